#pragma once

#include <string>
#include <vector>

#include "comparer/run.h"

namespace understudy::comparer {

/// The same row in the runs of both sides; null where a run lacks it.
struct PairedRow {
  RowKind kind = RowKind::kOperator;
  std::string name;
  std::string detail;
  std::vector<const Series*> a, b;  ///< one per run
};

/// Every row of any run, paired by kind, name and, for collectives, detail. The result points into
/// the runs.
[[nodiscard]] std::vector<PairedRow> pair_rows(const std::vector<Run>& a,
                                               const std::vector<Run>& b);

}  // namespace understudy::comparer
