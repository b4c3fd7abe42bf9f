#pragma once

#include <cstdint>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// Column parts are multiples of this size, because kernels read rows in vectors of four elements.
inline constexpr std::int64_t kLeastColumns = 4;

struct SearchOptions {
  /// Also splits tables by columns if they fit on a rank, as long as that shortens the step by 1 %.
  bool cuts_any = false;
};

/// Returns the plan with the shortest predicted step that the search finds.
///
/// If the tables do not fit on the ranks, the table with the largest part is cut in more parts
/// until they do. The search starts from each plan that fits and from a greedy one by predicted
/// time. It moves and swaps shards between ranks as long as that shortens the step, so the result
/// is never longer than any of `starts`. Deterministic. Throws Error (usage) if the tables do not
/// fit on all ranks.
[[nodiscard]] Plan search_plan(const Placement& on, const std::vector<Plan>& starts,
                               const SearchOptions& options = {});

/// Returns a table in about `parts` equal parts: by columns, or by rows if kLeastColumns of them
/// exceed `memory_bytes`. Returns fewer parts where the table has no more columns or rows.
[[nodiscard]] std::vector<Shard> parts_of(const ShardTask& task, std::size_t table,
                                          std::int64_t parts, double memory_bytes);

/// Returns four placements of whole tables that Lin et al. compare (arXiv 2404.12674, section on
/// sharding; owensgroup/ml_perf_model). With E rows, D elements per row, L lookups per bag:
/// - naive: table i on rank i mod n;
/// - greedy: tables by decreasing cost, each on the rank with room that has the smallest sum of
///   costs (on ties the fewest bytes). Costs: E D bytes for size_greedy, D L for lookup_greedy, D L
///   log10(E) for size_lookup_greedy.
/// `Plan::fits` is false if a rank's memory is exceeded.
[[nodiscard]] std::vector<Plan> heuristic_plans(const Placement& on);

}  // namespace understudy::predictor
