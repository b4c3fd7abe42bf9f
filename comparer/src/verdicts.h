#pragma once

#include <optional>
#include <vector>

#include "comparer/compare.h"
#include "noise.h"

namespace understudy::comparer {

/// A row's estimate as the verdict needs it.
struct Evidence {
  std::optional<Uncertain> clock;    ///< by the clock, the machine's state apart
  std::optional<Uncertain> machine;  ///< by the clock, the machine's state included
  std::optional<Uncertain> rest;     ///< beside the rest; absent where nothing need be alike
  bool rest_is_machine = false;      ///< the machine's state explains what the rest itself did
  bool has_few_samples = false;
  double share = 1;
  double a_share = 1;  ///< of A's step
};

/// Probability of as large a change by noise alone, for this row alone.
[[nodiscard]] double p_of(const Evidence& evidence);

/// Sets each row's p, verdict and why; rows and evidence are parallel.
void judge(std::vector<Row>& rows, const std::vector<Evidence>& evidence,
           const CompareOptions& options);

}  // namespace understudy::comparer
