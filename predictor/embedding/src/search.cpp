#include "predictor/embedding/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "balance.h"
#include "et_schema/base/error.h"

namespace understudy::predictor {
namespace {

std::vector<ShardLoad> loads_of(const Placement& on, const std::vector<Shard>& shards) {
  std::vector<ShardLoad> loads;
  for (const Shard& shard : shards) {
    loads.push_back(load_of(on, shard));
  }
  return loads;
}

double work_of(const ShardLoad& load) {
  return load.forward + load.backward;
}

/// Places shards by decreasing load where the step becomes shortest, on ties on the least loaded
/// rank. Returns nothing if a shard finds no room.
std::optional<std::vector<int>> greedy_by_time(const Placement& on,
                                               const std::vector<ShardLoad>& loads) {
  std::vector<RankLoad> sums(static_cast<std::size_t>(on.ranks));
  std::vector<int> rank_of(loads.size());
  for (const std::size_t shard : by_falling(loads, work_of)) {
    std::size_t best = sums.size();
    std::pair least(std::numeric_limits<double>::infinity(), 0.0);
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      if (sums[rank].bytes + loads[shard].bytes > on.memory_bytes) {
        continue;
      }
      add(sums[rank], loads[shard], 1);
      const std::pair key(step_time(sums, on.costs).ns(), work_of(sums[rank]));
      add(sums[rank], loads[shard], -1);
      if (key < least) {
        least = key;
        best = rank;
      }
    }
    if (best == sums.size()) {
      return std::nullopt;
    }
    add(sums[best], loads[shard], 1);
    rank_of[shard] = static_cast<int>(best);
  }
  return rank_of;
}

/// Places the largest shard first, each on the emptiest rank. Returns nothing if one does not fit.
std::optional<std::vector<int>> by_room(const Placement& on, const std::vector<ShardLoad>& loads) {
  std::vector<double> used(static_cast<std::size_t>(on.ranks));
  std::vector<int> rank_of(loads.size());
  for (const std::size_t shard : by_falling(loads, &ShardLoad::bytes)) {
    const auto least = std::ranges::min_element(used);
    if (*least + loads[shard].bytes > on.memory_bytes) {
      return std::nullopt;
    }
    *least += loads[shard].bytes;
    rank_of[shard] = static_cast<int>(least - used.begin());
  }
  return rank_of;
}

/// Returns the starts of the search: assignments of shards to ranks that fit.
std::vector<std::vector<int>> starts_of(const Placement& on, const std::vector<ShardLoad>& loads,
                                        const std::vector<Plan>& plans,
                                        const std::vector<Shard>& shards) {
  std::vector<std::vector<int>> starts;
  if (auto greedy = greedy_by_time(on, loads)) {
    starts.push_back(std::move(*greedy));
  }
  if (auto roomy = by_room(on, loads)) {
    starts.push_back(std::move(*roomy));
  }
  for (const Plan& plan : plans) {
    if (plan.fits && plan.shards == shards) {
      starts.push_back(plan.rank_of);
    }
  }
  return starts;
}

/// Improves each start by moving shards; returns the best plan. Returns nothing if no start fits.
std::optional<Plan> best_plan(const Placement& on, const std::vector<Shard>& shards,
                              const std::vector<Plan>& plans, const SearchOptions& options) {
  const std::vector<ShardLoad> loads = loads_of(on, shards);
  const auto all = starts_of(on, loads, plans, shards);
  if (all.empty()) {
    return std::nullopt;
  }
  Plan plan{.name = "search", .shards = shards};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Balanced balanced = balance(on, loads, all[i]);
    if (balanced.ns < least) {
      least = balanced.ns;
      plan.rank_of = std::move(balanced.rank_of);
    }
    if (options.progress) {
      options.progress(i + 1, all.size());
    }
  }
  evaluate(plan, on);
  return plan;
}

/// Returns the shards with shard `at` split in two, or nothing if it cannot be split.
std::optional<std::vector<Shard>> with_halves(const ShardTask& task, std::vector<Shard> shards,
                                              std::size_t at, bool by_rows) {
  const auto halves = halves_of(task, shards[at], by_rows);
  if (!halves) {
    return std::nullopt;
  }
  shards[at] = halves->first;
  shards.insert(shards.begin() + static_cast<std::ptrdiff_t>(at) + 1, halves->second);
  return shards;
}

/// Returns the shards with the most expensive one split by columns, or nothing if it is too narrow.
std::optional<std::vector<Shard>> halve_largest(const Placement& on, const Plan& plan) {
  const std::vector<ShardLoad> loads = loads_of(on, plan.shards);
  const auto largest = std::ranges::max_element(loads, {}, work_of);
  return with_halves(on.task, plan.shards, static_cast<std::size_t>(largest - loads.begin()),
                     false);
}

/// Halves the largest shard until all fit together. Returns nothing if it cannot be halved.
std::optional<std::vector<Shard>> cut_for_room(const Placement& on, std::vector<Shard> shards) {
  constexpr std::size_t kMostCuts = 32;  // per rank; further cuts would gain nothing
  const std::size_t most = shards.size() + kMostCuts * static_cast<std::size_t>(on.ranks);
  while (shards.size() < most) {
    const std::vector<ShardLoad> loads = loads_of(on, shards);
    if (by_room(on, loads)) {
      return shards;
    }
    const auto largest = std::ranges::max_element(loads, {}, &ShardLoad::bytes);
    auto cut =
        with_halves(on.task, shards, static_cast<std::size_t>(largest - loads.begin()), true);
    if (!cut) {
      return std::nullopt;
    }
    shards = std::move(*cut);
  }
  return std::nullopt;
}

/// Splits shards as long as the step becomes 1 % shorter. Several shards can be equally slow, so it
/// stops only after as many splits without a gain as there are ranks.
Plan with_cuts(const Placement& on, Plan plan, const SearchOptions& options) {
  constexpr double kWorth = 0.99;
  Plan best = plan;
  for (int idle = 0; idle < on.ranks; ++idle) {
    const auto shards = halve_largest(on, plan);
    std::optional<Plan> cut = shards ? best_plan(on, *shards, {}, options) : std::nullopt;
    if (!cut) {
      break;
    }
    plan = std::move(*cut);
    if (plan.time.ns() < kWorth * best.time.ns()) {
      best = plan;
      idle = -1;
    }
  }
  return best;
}

}  // namespace

Plan search_plan(const Placement& on, const std::vector<Plan>& starts,
                 const SearchOptions& options) {
  const std::vector<Shard> shards = shards_that_fit(on.task, on.ranks, on.memory_bytes);
  std::optional<Plan> plan = best_plan(on, shards, starts, options);
  if (!plan) {
    if (const auto cut = cut_for_room(on, shards)) {
      plan = best_plan(on, *cut, starts, options);
    }
  }
  if (!plan) {
    throw et_schema::usage_error(
        "the tables do not fit",
        {.field = "--memory",
         .expected = "room for the tables and their parts, whole, on the ranks",
         .got =
             fmt::format("{:.3g} GiB on each of {} ranks", on.memory_bytes / (1U << 30U), on.ranks),
         .hint = "a little more memory: in sum it is enough"});
  }
  return options.cuts_any ? with_cuts(on, std::move(*plan), options) : std::move(*plan);
}

}  // namespace understudy::predictor
