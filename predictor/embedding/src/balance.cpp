#include "balance.h"

#include <algorithm>
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

  [[nodiscard]] double ns() const { return ns_; }
  Balanced take() { return {std::move(rank_of_), ns_}; }

  /// Moves or swaps one shard so that the step becomes shorter. Returns false if that is
  /// impossible. Tries the shards of ranks that a phase waits for, and applies the best change of
  /// the first shard whose change shortens the step.
  bool improve() {
    const double limit = ns_ * (1 - kLeastGain);
    for (const int busy : busiest_ranks()) {
      find_rest(busy);
      for (std::size_t shard = 0; shard < loads_.size(); ++shard) {
        if (rank_of_[shard] != busy) {
          continue;
        }
        Change best{.ns = limit, .slowest = now_};
        for (int to = 0; to < static_cast<int>(ranks_.size()); ++to) {
          if (to != busy) {
            try_change({shard, to, shard}, best);
          }
        }
        for (std::size_t with = 0; with < loads_.size(); ++with) {
          if (rank_of_[with] != busy) {
            try_change({shard, rank_of_[with], with}, best);
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
    SlowestLoads slowest = {};
  };

  std::set<int> busiest_ranks() const {
    std::set<int> busiest;
    for (double RankLoad::*part : {&RankLoad::forward, &RankLoad::backward, &RankLoad::output_bytes,
                                   &RankLoad::index_bytes}) {
      const auto most =
          std::ranges::max_element(ranks_, {}, [part](const RankLoad& rank) { return rank.*part; });
      busiest.insert(static_cast<int>(most - ranks_.begin()));
    }
    return busiest;
  }

  [[nodiscard]] double time_of(const SlowestLoads& slowest) const {
    return step_time(slowest, static_cast<int>(ranks_.size()), costs_).ns();
  }

  /// Finds the loads of all ranks but the busy one and one more: these two alone change.
  void find_rest(int busy) {
    rest_.assign(ranks_.size(), {});
    for (std::size_t to = 0; to < ranks_.size(); ++to) {
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (rank != to && rank != static_cast<std::size_t>(busy)) {
          rest_[to].add(ranks_[rank]);
        }
      }
    }
  }

  /// Recomputes all sums, because incremental updates accumulate rounding errors.
  void refresh() {
    std::ranges::fill(ranks_, RankLoad{});
    sum_ = {};
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      add(ranks_[static_cast<std::size_t>(rank_of_[i])], loads_[i], 1);
    }
    std::ranges::for_each(ranks_, [this](const RankLoad& rank) { add(sum_, rank, 1); });
    now_ = slowest_loads(ranks_);
    ns_ = time_of(now_);
  }

  void try_change(const Change& change, Change& best) const {
    const RankLoad& from = ranks_[static_cast<std::size_t>(rank_of_[change.shard])];
    const RankLoad& to = ranks_[static_cast<std::size_t>(change.to)];
    const LoadRange& rest = rest_[static_cast<std::size_t>(change.to)];
    const ShardLoad& out = loads_[change.shard];
    const ShardLoad& in = change.with == change.shard ? nothing_ : loads_[change.with];
    const auto most = [&](double RankLoad::*part) {
      return std::max(
          {rest.most.*part, from.*part - out.*part + in.*part, to.*part + out.*part - in.*part});
    };
    const auto link = [&](double RankLoad::*part) {
      const double least = std::min(
          {rest.least.*part, from.*part - out.*part + in.*part, to.*part + out.*part - in.*part});
      return busiest_link(most(part), sum_.*part, least, ranks_.size());
    };
    if (from.bytes - out.bytes + in.bytes > memory_bytes_ ||
        to.bytes + out.bytes - in.bytes > memory_bytes_) {
      return;
    }
    const SlowestLoads slowest = {most(&RankLoad::forward), most(&RankLoad::backward),
                                  link(&RankLoad::output_bytes), link(&RankLoad::index_bytes)};
    // Querying times is expensive. A time can only decrease if a load does.
    if (slowest.forward < best.slowest.forward || slowest.backward < best.slowest.backward ||
        slowest.output_link_bytes < best.slowest.output_link_bytes ||
        slowest.index_link_bytes < best.slowest.index_link_bytes) {
      if (const double ns = time_of(slowest); ns < best.ns) {
        best = {change.shard, change.to, change.with, ns, slowest};
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
  RankLoad sum_;
  ShardLoad nothing_;
  std::vector<LoadRange> rest_;  ///< by the rank that a shard goes to: of the others
  double memory_bytes_;
  const ShardCosts& costs_;
  SlowestLoads now_;
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

Balanced balance(const Placement& on, const std::vector<ShardLoad>& loads, std::vector<int> rank_of,
                 double most_ns) {
  Balance state(on, loads, std::move(rank_of));
  while (state.ns() <= most_ns && state.improve()) {
  }
  return state.take();
}

}  // namespace understudy::predictor
