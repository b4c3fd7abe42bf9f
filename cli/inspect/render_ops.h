#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inspect/op_times.h"

namespace understudy::cli {

/// One table over all ranks: calls and times are sums; below it the totals, and what of the steps
/// was in no operator.
[[nodiscard]] std::string ops_text(const std::vector<RankOps>& ranks, GroupBy by);

/// One line a rank and group; times in ms, empty where there are none.
[[nodiscard]] std::string ops_csv(const std::vector<RankOps>& ranks, GroupBy by);

/// Keys of a rank: `ops` and, with `operators` in its name, what is over all of them.
void add_ops(nlohmann::ordered_json& rank, const RankOps& ops, GroupBy by);

}  // namespace understudy::cli
