#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "predictor/embedding/costs.h"
#include "predictor/embedding/task.h"

namespace understudy::predictor {

/// How a table is split.
enum class Split : std::uint8_t {
  kNone,
  kColumns,  ///< each part has some columns of every row: all lookups, fewer bytes
  kRows      ///< each part has some rows: its share of lookups, sums of full width
};
/// "none", "columns" or "rows".
[[nodiscard]] std::string_view to_string(Split split);

/// A table or a part of it: columns or rows [begin, end).
struct Shard {
  std::size_t table = 0;
  Split split = Split::kNone;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Shard&) const = default;
};
[[nodiscard]] Shard whole(const ShardTask& task, std::size_t table);
/// Returns the shard as a table of its own.
[[nodiscard]] EmbeddingTable table_of(const ShardTask& task, const Shard& shard);

/// Costs on a platform.
struct ShardCosts {
  EmbeddingCosts embedding;
  /// Returns the time of an all-to-all between `ranks` whose busiest link carries `link_bytes`.
  std::function<Estimate(double link_bytes, int ranks)> all_to_all;
};

/// A shard's contribution to its rank's work; does not depend on other shards.
struct ShardLoad {
  double forward = 0;  ///< EmbeddingCosts::load
  double backward = 0;
  double bytes = 0;         ///< memory, including the optimizer's state
  double output_bytes = 0;  ///< sums for one rank's samples
  double index_bytes = 0;   ///< indices and offsets that each rank sends to this one
};

/// A placement problem: the tables, the ranks and their costs.
struct Placement {
  const ShardTask& task;
  int ranks;
  double memory_bytes;  ///< per rank
  const ShardCosts& costs;
};
[[nodiscard]] ShardLoad load_of(const Placement& on, const Shard& shard);

/// Sum of the loads on one rank.
using RankLoad = ShardLoad;

/// Time of a step for its embedding tables: exchange of indices, the slowest rank's lookups,
/// exchanges of sums and gradients, the slowest rank's updates. Each phase waits for all ranks.
struct StepTime {
  Estimate indices;  ///< zero if each rank reads the indices of all samples itself
  Estimate forward;
  Estimate all_to_all;  ///< one direction; both take equally long
  Estimate backward;
  [[nodiscard]] double ns() const { return sum(&Estimate::ns); }
  [[nodiscard]] double low_ns() const { return sum(&Estimate::low_ns); }
  [[nodiscard]] double high_ns() const { return sum(&Estimate::high_ns); }

 private:
  [[nodiscard]] double sum(double Estimate::*of) const {
    return indices.*of + forward.*of + 2 * (all_to_all.*of) + backward.*of;
  }
};

/// What a step waits for: the largest loads of its ranks, and the most bytes that a rank sends to
/// others or receives from them.
struct SlowestLoads {
  double forward = 0;
  double backward = 0;
  double output_link_bytes = 0;
  double index_link_bytes = 0;
};
[[nodiscard]] SlowestLoads slowest_loads(const std::vector<RankLoad>& ranks);
[[nodiscard]] StepTime step_time(const SlowestLoads& loads, int ranks, const ShardCosts& costs);
[[nodiscard]] StepTime step_time(const std::vector<RankLoad>& ranks, const ShardCosts& costs);

/// One rank's part of a step's time.
struct RankTime {
  Estimate forward;
  Estimate backward;
};

/// The assignment of shards to ranks.
struct Plan {
  std::string name;               ///< "size_greedy", "search"
  std::vector<Shard> shards;      ///< ordered by table
  std::vector<int> rank_of = {};  ///< by shard
  bool fits = true;               ///< no rank exceeds its memory
  std::vector<RankLoad> ranks = {};
  std::vector<RankTime> rank_times = {};
  StepTime time = {};
};

/// Fills in all fields that follow from shards and ranks.
void evaluate(Plan& plan, const Placement& on);

}  // namespace understudy::predictor
