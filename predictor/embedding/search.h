#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// Column parts are multiples of this size, because kernels read rows in vectors of four elements.
inline constexpr std::int64_t kLeastColumns = 4;

struct SearchOptions {
  /// Also splits tables by columns if they fit on a rank, as long as that shortens the step by 1 %.
  bool cuts_any = false;
  /// Called with the number of finished starts and their total.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// Returns the plan with the shortest predicted step that the search finds.
///
/// Tables that do not fit on a rank are split by columns, and by rows if that is not enough. If the
/// parts do not fit together, the largest is halved. The search starts from each plan that fits and
/// from a greedy one by predicted time. It moves and swaps shards between ranks as long as that
/// shortens the step, so the result is never longer than any of `starts`. Deterministic. Throws
/// Error (usage) if the tables do not fit on all ranks.
[[nodiscard]] Plan search_plan(const Placement& on, const std::vector<Plan>& starts,
                               const SearchOptions& options = {});

/// Splits a shard in two by columns, or, if it is too narrow and `by_rows` is set, by rows. Returns
/// nothing if neither is possible.
[[nodiscard]] std::optional<std::pair<Shard, Shard>> halves_of(const ShardTask& task,
                                                               const Shard& shard, bool by_rows);

/// Returns all tables as shards that fit on a rank. Throws Error (usage) if that is impossible.
[[nodiscard]] std::vector<Shard> shards_that_fit(const ShardTask& task, int ranks,
                                                 double memory_bytes);

/// Returns the seven placements of whole tables that Lin et al. compare (arXiv 2404.12674, section
/// on sharding; owensgroup/ml_perf_model). With E rows, D elements per row, L lookups per bag:
/// - naive: table i on rank i mod n; naive_chunk: runs of equal length; random: by `seed`;
/// - greedy: tables by decreasing cost, each on the rank with room that has the smallest sum of
///   costs (on ties the fewest bytes). Costs: E D bytes for size_greedy, D L for lookup_greedy, D L
///   log10(E) for size_lookup_greedy. The published cost of norm_lookup_greedy was not found; here
///   it is D L plus E D bytes, each divided by its mean over the tables.
/// `Plan::fits` is false if a rank's memory is exceeded.
[[nodiscard]] std::vector<Plan> heuristic_plans(const Placement& on, std::uint64_t seed);

}  // namespace understudy::predictor
