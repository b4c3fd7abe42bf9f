#pragma once

#include <optional>
#include <vector>

#include "fleet/comparer/compare.h"
#include "noise.h"

namespace understudy::comparer {

/// The estimates of a row that its verdict needs.
struct Evidence {
  std::optional<Uncertain> clock;  ///< by the clock, without the uncertainty of the machine's state
  std::optional<Uncertain> machine;  ///< by the clock, with the uncertainty of the machine's state
  std::optional<Uncertain> rest;     ///< beside the rest; unset if it cannot be estimated
  bool rest_is_machine = false;      ///< the machine's state explains the change of the rest
  bool has_few_samples = false;
  double share = 1;
  double a_share = 1;  ///< share of A's step
};

/// Returns the probability that noise alone causes such a change, for this row alone.
[[nodiscard]] double p_of(const Evidence& evidence);

/// Sets each row's `p`, `verdict` and `why`. Rows and evidence are parallel.
void judge(std::vector<Row>& rows, const std::vector<Evidence>& evidence,
           const CompareOptions& options);

}  // namespace understudy::comparer
