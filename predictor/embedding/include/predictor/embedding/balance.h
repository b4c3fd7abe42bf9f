#pragma once

#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// The state of a search: shards on ranks, and a step's time, kept as shards move.
class Balance {
 public:
  Balance(std::vector<ShardLoad> loads, std::vector<int> rank_of, int ranks, double memory_bytes,
          const ShardCosts& costs);

  [[nodiscard]] double ns() const { return ns_; }
  [[nodiscard]] const std::vector<int>& rank_of() const { return rank_of_; }

  /// Moves one shard, or makes two change places, so that the step is shorter; false if no such
  /// change does that. Tries shards of the ranks that a phase waits for, and takes each one's best.
  bool improve();

 private:
  struct Change {
    std::size_t shard = 0;
    int to = 0;
    std::size_t with = 0;  ///< the shard that comes back; `shard` itself: none
    double ns = 0;
  };
  /// What a step waits for.
  struct Maxima {
    double forward = 0;
    double backward = 0;
    double link_bytes = 0;
    double index_bytes = 0;  ///< likewise, of the indices
  };
  /// The ranks with the most of a load, or the least: three, since a change touches two.
  using Outermost = std::vector<int>;

  [[nodiscard]] std::vector<int> busiest_ranks() const;
  [[nodiscard]] Outermost outermost(double RankLoad::*load, double sign) const;
  [[nodiscard]] Maxima maxima_of(int from, const RankLoad& from_load, int to,
                                 const RankLoad& to_load) const;
  [[nodiscard]] double time_of(const Maxima& maxima) const;
  void refresh();
  void try_change(const Change& change, Change& best) const;
  void apply(const Change& change);

  std::vector<ShardLoad> loads_;
  std::vector<int> rank_of_;
  std::vector<RankLoad> ranks_;
  double memory_bytes_;
  const ShardCosts& costs_;
  Outermost most_forward_, most_backward_, most_output_, least_output_, most_index_, least_index_;
  double output_sum_ = 0, index_sum_ = 0;
  Maxima now_;
  double ns_ = 0;
};

/// Adds (or, with -1, takes away) a shard's part.
void add(RankLoad& rank, const ShardLoad& shard, double sign);

}  // namespace understudy::predictor
