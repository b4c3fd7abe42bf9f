#include "balance.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace understudy::predictor {
namespace {

/// Smaller gains are rounding errors.
constexpr double kLeastGain = 1e-9;

/// State of a search: the assignment of shards, and the step's time, updated as shards move.
class Balance {
 public:
  Balance(const Placement& on, const std::vector<ShardLoad>& loads, std::vector<int> rank_of)
      : loads_(loads),
        rank_of_(std::move(rank_of)),
        ranks_(static_cast<std::size_t>(on.ranks)),
        memory_bytes_(on.memory_bytes),
        costs_(on.costs) {
    refresh();
  }

  Balanced take() { return {std::move(rank_of_), ns_}; }

  /// Moves or swaps one shard so that the step becomes shorter. Returns false if that is
  /// impossible. Tries the shards of ranks that a phase waits for, and applies the best change of
  /// the first shard whose change shortens the step.
  bool improve() {
    const double limit = ns_ * (1 - kLeastGain);
    for (const int busy : busiest_ranks()) {
      for (std::size_t shard = 0; shard < loads_.size(); ++shard) {
        if (rank_of_[shard] != busy) {
          continue;
        }
        Change best;
        best.ns = limit;
        for (int to = 0; to < static_cast<int>(ranks_.size()); ++to) {
          if (to != busy) {
            try_change({shard, to, shard, 0}, best);
          }
        }
        for (std::size_t with = 0; with < loads_.size(); ++with) {
          if (rank_of_[with] != busy) {
            try_change({shard, rank_of_[with], with, 0}, best);
          }
        }
        if (best.ns < limit) {
          apply(best);
          return true;
        }
      }
    }
    return false;
  }

 private:
  struct Change {
    std::size_t shard = 0;
    int to = 0;
    std::size_t with = 0;  ///< the shard swapped for `shard`; equal to `shard`: none
    double ns = 0;
  };
  /// Maximum loads, which a step waits for.
  struct Maxima {
    double forward = 0;
    double backward = 0;
    double link_bytes = 0;
    double index_bytes = 0;  ///< busiest link's, in the index exchange
  };
  /// The three ranks with the largest or smallest load. A change affects two, so three suffice.
  using Outermost = std::vector<int>;

  std::vector<int> busiest_ranks() const {
    std::set<int> busiest;
    for (const Outermost* ranks : {&most_forward_, &most_backward_, &most_output_, &most_index_}) {
      busiest.insert(ranks->front());
    }
    return {busiest.begin(), busiest.end()};
  }

  Outermost outermost(double RankLoad::*load, double sign) const {
    constexpr std::size_t kUntouched = 3;
    Outermost order(ranks_.size());
    std::iota(order.begin(), order.end(), 0);
    const std::size_t kept = std::min(kUntouched, order.size());
    std::ranges::partial_sort(
        order, order.begin() + static_cast<std::ptrdiff_t>(kept), std::greater<>(),
        [&](int rank) { return sign * (ranks_[static_cast<std::size_t>(rank)].*load); });
    order.resize(kept);
    return order;
  }

  Maxima maxima_of(int from, const RankLoad& from_load, int to, const RankLoad& to_load) const {
    /// Returns the extreme load of the two changed ranks and all others.
    const auto extreme = [&](const Outermost& ranks, double RankLoad::*load, double sign) {
      double value = sign * std::max(sign * (from_load.*load), sign * (to_load.*load));
      for (const int rank : ranks) {
        if (rank != from && rank != to) {
          return sign *
                 std::max(sign * value, sign * (ranks_[static_cast<std::size_t>(rank)].*load));
        }
      }
      return value;
    };
    const auto busiest_link = [&](const Outermost& most, const Outermost& least,
                                  double RankLoad::*load, double sum) {
      const auto others = static_cast<double>(ranks_.size() - 1);
      return ranks_.size() > 1
                 ? std::max(others * extreme(most, load, 1), sum - extreme(least, load, -1))
                 : 0;
    };
    return {
        .forward = extreme(most_forward_, &RankLoad::forward, 1),
        .backward = extreme(most_backward_, &RankLoad::backward, 1),
        .link_bytes =
            busiest_link(most_output_, least_output_, &RankLoad::output_bytes, output_sum_),
        .index_bytes = busiest_link(most_index_, least_index_, &RankLoad::index_bytes, index_sum_)};
  }

  double time_of(const Maxima& maxima) const {
    const auto ranks = static_cast<int>(ranks_.size());
    const double exchange = ranks > 1 ? costs_.all_to_all(maxima.link_bytes, ranks).ns : 0;
    const double indices =
        maxima.index_bytes > 0 ? costs_.all_to_all(maxima.index_bytes, ranks).ns : 0;
    return indices + costs_.embedding.time(maxima.forward, Direction::kForward).ns + 2 * exchange +
           costs_.embedding.time(maxima.backward, Direction::kBackward).ns;
  }

  /// Recomputes all sums, because incremental updates accumulate rounding errors.
  void refresh() {
    std::ranges::fill(ranks_, RankLoad{});
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      add(ranks_[static_cast<std::size_t>(rank_of_[i])], loads_[i], 1);
    }
    output_sum_ = index_sum_ = 0;
    for (const RankLoad& rank : ranks_) {
      output_sum_ += rank.output_bytes;
      index_sum_ += rank.index_bytes;
    }
    most_forward_ = outermost(&RankLoad::forward, 1);
    most_backward_ = outermost(&RankLoad::backward, 1);
    most_output_ = outermost(&RankLoad::output_bytes, 1);
    least_output_ = outermost(&RankLoad::output_bytes, -1);
    most_index_ = outermost(&RankLoad::index_bytes, 1);
    least_index_ = outermost(&RankLoad::index_bytes, -1);
    now_ = maxima_of(0, ranks_.front(), 0, ranks_.front());
    ns_ = time_of(now_);
  }

  void try_change(const Change& change, Change& best) const {
    const int from = rank_of_[change.shard];
    RankLoad from_load = ranks_[static_cast<std::size_t>(from)];
    RankLoad to_load = ranks_[static_cast<std::size_t>(change.to)];
    add(from_load, loads_[change.shard], -1);
    add(to_load, loads_[change.shard], 1);
    if (change.with != change.shard) {
      add(to_load, loads_[change.with], -1);
      add(from_load, loads_[change.with], 1);
    }
    if (to_load.bytes > memory_bytes_ || from_load.bytes > memory_bytes_) {
      return;
    }
    const Maxima maxima = maxima_of(from, from_load, change.to, to_load);
    // Querying times is expensive. A time can only decrease if a maximum does.
    const bool may_be_shorter = maxima.forward < now_.forward || maxima.backward < now_.backward ||
                                maxima.link_bytes < now_.link_bytes ||
                                maxima.index_bytes < now_.index_bytes;
    if (may_be_shorter) {
      const double ns = time_of(maxima);
      if (ns < best.ns) {
        best = change;
        best.ns = ns;
      }
    }
  }

  void apply(const Change& change) {
    const int from = rank_of_[change.shard];
    rank_of_[change.shard] = change.to;
    if (change.with != change.shard) {
      rank_of_[change.with] = from;
    }
    refresh();
  }

  const std::vector<ShardLoad>& loads_;
  std::vector<int> rank_of_;
  std::vector<RankLoad> ranks_;
  double memory_bytes_;
  const ShardCosts& costs_;
  Outermost most_forward_, most_backward_, most_output_, least_output_, most_index_, least_index_;
  double output_sum_ = 0, index_sum_ = 0;
  Maxima now_;
  double ns_ = 0;
};

}  // namespace

void add(RankLoad& rank, const ShardLoad& shard, double sign) {
  rank.forward += sign * shard.forward;
  rank.backward += sign * shard.backward;
  rank.bytes += sign * shard.bytes;
  rank.output_bytes += sign * shard.output_bytes;
  rank.index_bytes += sign * shard.index_bytes;
}

Balanced balance(const Placement& on, const std::vector<ShardLoad>& loads,
                 std::vector<int> rank_of) {
  Balance state(on, loads, std::move(rank_of));
  while (state.improve()) {
  }
  return state.take();
}

}  // namespace understudy::predictor
