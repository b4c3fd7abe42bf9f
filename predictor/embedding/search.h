#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// Parts have a multiple of so many columns: kernels read rows in pieces of four numbers.
inline constexpr std::int64_t kLeastColumns = 4;

struct SearchOptions {
  /// Also cuts tables that would fit, in columns, as long as a cut makes the step shorter by 1 %.
  bool cuts_any = false;
  /// Told how many of how many starts are done.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// The plan of the shortest predicted step that it finds. Tables that do not fit on a rank are cut
/// in columns, where that is not enough in rows; where parts that fit by themselves leave each
/// other no room, the largest of them are halved. From each of the plans that fit, and from a
/// greedy one by the predicted time itself, shards are moved and swapped between ranks as long as
/// that shortens the step; so it is never longer than any of `starts`. Deterministic. Throws Error
/// (usage) where the tables do not fit on all ranks.
[[nodiscard]] Plan search_plan(const Placement& on, const std::vector<Plan>& starts,
                               const SearchOptions& options = {});

/// A shard cut in two, by its columns; where it is too narrow and `by_rows`, by its rows. Nothing
/// of what can be cut in neither.
[[nodiscard]] std::optional<std::pair<Shard, Shard>> halves_of(const ShardTask& task,
                                                               const Shard& shard, bool by_rows);

/// All tables as shards, none larger than a rank's memory. Throws Error (usage), as above.
[[nodiscard]] std::vector<Shard> shards_that_fit(const ShardTask& task, int ranks,
                                                 double memory_bytes);

/// The seven ways to place whole tables that Lin et al. compare (arXiv 2404.12674, section on
/// sharding; owensgroup/ml_perf_model). With E rows, D numbers a row, L lookups a bag:
/// - naive: table i on rank i mod n; naive_chunk: runs of equal length; random: by `seed`;
/// - greedy: tables by falling cost, each on the rank with the least sum so far that has room (the
///   least bytes where sums are equal); cost of size_greedy E D bytes, of lookup_greedy D L, of
///   size_lookup_greedy D L log10(E). The cost of norm_lookup_greedy was not found; ours is D L and
///   E D bytes, each divided by its mean over the tables, added.
/// Plans that put more on a rank than fits say so.
[[nodiscard]] std::vector<Plan> heuristic_plans(const Placement& on, std::uint64_t seed);

}  // namespace understudy::predictor
