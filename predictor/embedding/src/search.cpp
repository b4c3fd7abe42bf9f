#include "predictor/embedding/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "balance.h"
#include "et_schema/base/error.h"

namespace understudy::predictor {
namespace {

double work_of(const ShardLoad& load) {
  return load.forward + load.backward;
}

double bytes_of(const ShardLoad& load) {
  return load.bytes;
}

/// Places the largest shard first, each on the emptiest rank.
Placed by_room(const Placement& on, const std::vector<ShardLoad>& loads) {
  return greedy(on, loads, costs_of(loads, bytes_of), Prefer::kLeastCost);
}

/// Returns the starts of the search: assignments of shards to ranks that fit.
std::vector<std::vector<int>> starts_of(const Placement& on, const std::vector<ShardLoad>& loads,
                                        const std::vector<Plan>& plans,
                                        const std::vector<Shard>& shards) {
  std::vector<std::vector<int>> starts;
  for (Placed& start :
       std::array{greedy(on, loads, costs_of(loads, work_of), Prefer::kShortestStep),
                  by_room(on, loads)}) {
    if (start.fits) {
      starts.push_back(std::move(start.rank_of));
    }
  }
  for (const Plan& plan : plans) {
    if (plan.fits && plan.shards == shards) {
      starts.push_back(plan.rank_of);
    }
  }
  return starts;
}

/// Improves each start by moving shards; returns the best plan. Shards by room must fit. Starts of
/// a step that is a tenth longer than the best so far end no shorter, and would take longest.
Plan best_plan(const Placement& on, const std::vector<Shard>& shards,
               const std::vector<Plan>& plans) {
  constexpr double kPromising = 1.1;
  const std::vector<ShardLoad> loads = loads_of(on, shards);
  Plan plan{.name = "search", .shards = shards};
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<int>& start : starts_of(on, loads, plans, shards)) {
    Balanced balanced = balance(on, loads, start, kPromising * least);
    if (balanced.ns < least) {
      least = balanced.ns;
      plan.rank_of = std::move(balanced.rank_of);
    }
  }
  evaluate(plan, on);
  return plan;
}

/// Number of parts of each table.
using Parts = std::vector<std::int64_t>;

std::vector<Shard> shards_of(const Placement& on, const Parts& parts) {
  std::vector<Shard> shards;
  for (std::size_t table = 0; table < parts.size(); ++table) {
    const std::vector<Shard> own = parts_of(on.task, table, parts[table], on.memory_bytes);
    shards.insert(shards.end(), own.begin(), own.end());
  }
  return shards;
}

/// Cuts the table of the largest shard in more parts. Returns false if it has no more.
bool cut_largest(const Placement& on, double (*size)(const ShardLoad&), Parts& parts,
                 std::vector<Shard>& shards) {
  const std::vector<ShardLoad> loads = loads_of(on, shards);
  const auto largest = std::ranges::max_element(loads, {}, size);
  std::int64_t& of_table = parts[shards[static_cast<std::size_t>(largest - loads.begin())].table];
  const std::size_t before = shards.size();
  // Some numbers of parts give no other cut; twice as many do, as long as parts are large enough.
  const std::int64_t most = 2 * of_table + kLeastColumns;
  while (shards.size() == before && of_table < most) {
    ++of_table;
    shards = shards_of(on, parts);
  }
  return shards.size() > before;
}

[[noreturn]] void refuse(const Placement& on, double all_bytes) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const bool is_too_little = all_bytes > on.memory_bytes * on.ranks;
  throw et_schema::usage_error(
      "the tables do not fit",
      {.field = "--memory",
       .expected = is_too_little ? fmt::format("{:.3g} GiB on each of {} ranks, or more",
                                               all_bytes / kGiB / on.ranks, on.ranks)
                                 : "room for the tables and their parts, whole, on the ranks",
       .got = fmt::format("{:.3g} GiB on each of {} ranks", on.memory_bytes / kGiB, on.ranks),
       .hint = is_too_little ? "more ranks, more memory, or a smaller element type"
                             : "a little more memory: in sum it is enough"});
}

/// Cuts the tables with the largest parts until all fit on the ranks together.
Parts parts_that_fit(const Placement& on) {
  constexpr std::size_t kMostCuts = 32;  // per rank; further cuts would gain nothing
  double all_bytes = 0;
  for (const NamedTable& table : on.task.tables) {
    all_bytes += held_bytes(table.table);
  }
  Parts parts(on.task.tables.size(), 1);
  std::vector<Shard> shards = shards_of(on, parts);
  const std::size_t most = shards.size() + kMostCuts * static_cast<std::size_t>(on.ranks);
  while (!by_room(on, loads_of(on, shards)).fits) {
    if (all_bytes > on.memory_bytes * on.ranks || shards.size() >= most ||
        !cut_largest(on, bytes_of, parts, shards)) {
      refuse(on, all_bytes);
    }
  }
  return parts;
}

/// Splits shards as long as the step becomes 1 % shorter. Several shards can be equally slow, so it
/// stops only after as many splits without a gain as there are ranks.
Plan with_cuts(const Placement& on, Parts parts, Plan plan) {
  constexpr double kWorth = 0.99;
  Plan best = plan;
  for (int idle = 0; idle < on.ranks; ++idle) {
    std::vector<Shard> shards = plan.shards;
    if (!cut_largest(on, work_of, parts, shards) || !by_room(on, loads_of(on, shards)).fits) {
      break;
    }
    plan = best_plan(on, shards, {});
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
  const Parts parts = parts_that_fit(on);
  Plan plan = best_plan(on, shards_of(on, parts), starts);
  return options.cuts_any ? with_cuts(on, parts, std::move(plan)) : plan;
}

}  // namespace understudy::predictor
