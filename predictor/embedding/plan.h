#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "predictor/embedding/costs.h"
#include "predictor/embedding/task.h"

namespace understudy::predictor {

/// How a table is cut.
enum class Split : std::uint8_t {
  kNone,
  kColumns,  ///< each part holds some numbers of every row: all lookups, fewer bytes
  kRows      ///< each part holds some rows: its share of the lookups, sums as wide as the table's
};
/// "none", "columns" or "rows".
[[nodiscard]] std::string_view to_string(Split split);

/// A table or a part of one: columns or rows [begin, end).
struct Shard {
  std::size_t table = 0;
  Split split = Split::kNone;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Shard&) const = default;
};
[[nodiscard]] Shard whole(const ShardTask& task, std::size_t table);
/// The table that a shard is by itself.
[[nodiscard]] EmbeddingTable table_of(const ShardTask& task, const Shard& shard);

/// What a platform tells.
struct ShardCosts {
  EmbeddingCosts embedding;
  /// The time of an exchange between so many ranks whose busiest link carries so many bytes.
  std::function<Estimate(double link_bytes, int ranks)> all_to_all;
};

/// A shard's part in its rank's work, known beforehand.
struct ShardLoad {
  double forward = 0;  ///< EmbeddingCosts::load
  double backward = 0;
  double bytes = 0;         ///< of memory, the optimizer's state included
  double output_bytes = 0;  ///< of the sums for one rank's samples
  double index_bytes = 0;   ///< of one rank's indices and offsets, which it sends here
};

/// What is to be placed, and where.
struct Placement {
  const ShardTask& task;
  int ranks;
  double memory_bytes;  ///< of each rank
  const ShardCosts& costs;
};
[[nodiscard]] ShardLoad load_of(const Placement& on, const Shard& shard);

/// Sum of the loads on one rank.
using RankLoad = ShardLoad;

/// What a step takes of its embedding tables: the exchange of indices, the slowest rank's lookups,
/// the exchange of the sums, that of their gradients, the slowest rank's updates. Each waits for
/// all ranks.
struct StepTime {
  Estimate indices;  ///< nothing where each rank reads all samples' indices by itself
  Estimate forward;
  Estimate all_to_all;  ///< one way; both take as long
  Estimate backward;
  [[nodiscard]] double ns() const { return sum(&Estimate::ns); }
  [[nodiscard]] double low_ns() const { return sum(&Estimate::low_ns); }
  [[nodiscard]] double high_ns() const { return sum(&Estimate::high_ns); }

 private:
  [[nodiscard]] double sum(double Estimate::*of) const {
    return indices.*of + forward.*of + 2 * (all_to_all.*of) + backward.*of;
  }
};
[[nodiscard]] StepTime step_time(const std::vector<RankLoad>& ranks, const ShardCosts& costs);
/// What the busiest link carries one way: the most that a rank sends to the others or gets of them.
[[nodiscard]] double link_bytes(const std::vector<RankLoad>& ranks, double RankLoad::*part);

/// What one rank takes of that.
struct RankTime {
  Estimate forward;
  Estimate backward;
};

/// Which rank holds which shard.
struct Plan {
  std::string name;               ///< "size_greedy", "search"
  std::vector<Shard> shards;      ///< in the order of tables
  std::vector<int> rank_of = {};  ///< of each shard
  bool fits = true;               ///< no rank holds more than its memory
  std::vector<RankLoad> ranks = {};
  std::vector<RankTime> rank_times = {};
  StepTime time = {};
};

/// Fills in what follows from shards and ranks.
void evaluate(Plan& plan, const Placement& on);

}  // namespace understudy::predictor
