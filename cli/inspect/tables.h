#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/table.h"
#include "inspect/summary.h"

namespace understudy::cli {

/// Names come from the traced program: nothing of them may steer the terminal.
[[nodiscard]] std::string printable(std::string_view text);

/// One communication call a row.
[[nodiscard]] TextTable calls_table(const std::vector<RankSummary>& ranks);

/// One device and element type a row.
[[nodiscard]] TextTable tensors_table(const std::vector<RankSummary>& ranks);

}  // namespace understudy::cli
