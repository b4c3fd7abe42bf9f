#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/table.h"
#include "shard/render.h"

namespace understudy::cli {
namespace {

using predictor::Plan;
using predictor::RankLoad;

constexpr Alignment kRight = Alignment::kRight;

std::string ms_text(double ns) {
  return fmt::format("{:.3f}", ns / kNsPerMs);
}

std::string bytes_text(double bytes) {
  return with_bytes(static_cast<std::uint64_t>(bytes));
}

double most(const Plan& plan, double RankLoad::*load) {
  return std::ranges::max(plan.ranks, {}, load).*load;
}

/// The mean rank's lookups and updates as a share of the slowest rank's.
double balance_of(const Plan& plan) {
  double sum = 0;
  double slowest = 0;
  for (const predictor::RankTime& time : plan.rank_times) {
    const double ns = time.forward.ns + time.backward.ns;
    sum += ns;
    slowest = std::max(slowest, ns);
  }
  return slowest > 0 ? sum / static_cast<double>(plan.rank_times.size()) / slowest : 1;
}

double bytes_of(const predictor::ShardTask& task) {
  double bytes = 0;
  for (const predictor::NamedTable& table : task.tables) {
    bytes += held_bytes(table.table);
  }
  return bytes;
}

std::string head_text(const Sharding& sharding) {
  const std::string memory = std::isfinite(sharding.memory_bytes)
                                 ? bytes_text(sharding.memory_bytes) + " a rank"
                                 : "not bounded";
  TextTable table({{""}, {""}});
  table.add({"tables", fmt::format("{} of {}, {} in sum", sharding.task.tables.size(),
                                   sharding.tables_file, bytes_text(bytes_of(sharding.task)))});
  table.add({"ranks", fmt::format("{}, {} samples each", sharding.ranks,
                                  with_commas(static_cast<std::uint64_t>(sharding.task.batch)))});
  table.add({"memory", memory});
  table.add({"platform", sharding.platform});
  return table.to_text();
}

std::string plans_text(const Sharding& sharding) {
  std::vector<const Plan*> order;
  for (const Plan& plan : sharding.plans) {
    order.push_back(&plan);
  }
  std::ranges::stable_sort(order, [](const Plan* a, const Plan* b) {
    return std::pair(!a->fits, a->time.ns()) < std::pair(!b->fits, b->time.ns());
  });
  TextTable table({{"plan"},
                   {"step ms", kRight},
                   {"90 % interval", kRight},
                   {"indices", kRight},
                   {"forward", kRight},
                   {"all-to-all", kRight},
                   {"backward", kRight},
                   {"balance", kRight},
                   {"most memory", kRight},
                   {""}});
  const double best = sharding.plans.front().time.ns();
  for (const Plan* plan : order) {
    const predictor::StepTime& time = plan->time;
    const std::string beside = !plan->fits        ? "does not fit"
                               : plan == order[0] ? ""
                                                  : fmt::format("{:.2f} x", time.ns() / best);
    table.add({plan->name, ms_text(time.ns()),
               fmt::format("{} … {}", ms_text(time.low_ns()), ms_text(time.high_ns())),
               ms_text(time.indices.ns), ms_text(time.forward.ns),
               "2 x " + ms_text(time.all_to_all.ns), ms_text(time.backward.ns),
               fmt::format("{:.0f} %", 100 * balance_of(*plan)),
               bytes_text(most(*plan, &RankLoad::bytes)), beside});
  }
  return "\nA step's embedding tables, by plan\n" + table.to_text();
}

std::string ranks_text(const Plan& plan) {
  constexpr std::size_t kMostRanks = 32;
  TextTable table({{"rank", kRight},
                   {"shards", kRight},
                   {"memory", kRight},
                   {"sends to each", kRight},
                   {"forward ms", kRight},
                   {"backward ms", kRight}});
  const std::size_t shown = std::min(plan.ranks.size(), kMostRanks);
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const auto shards = std::ranges::count(plan.rank_of, static_cast<int>(rank));
    table.add({fmt::format("{}", rank), fmt::format("{}", shards),
               bytes_text(plan.ranks[rank].bytes), bytes_text(plan.ranks[rank].output_bytes),
               ms_text(plan.rank_times[rank].forward.ns),
               ms_text(plan.rank_times[rank].backward.ns)});
  }
  std::string text = fmt::format("\nRanks of {}\n{}", plan.name, table.to_text());
  if (shown < plan.ranks.size()) {
    text += fmt::format("  … and {} more\n", plan.ranks.size() - shown);
  }
  return text;
}

std::string cuts_text(const Sharding& sharding) {
  const Plan& plan = sharding.plans.front();
  TextTable table({{"table"}, {"cut in"}, {"part", kRight}, {"rank", kRight}});
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const predictor::Shard& shard = plan.shards[i];
    if (shard.split != predictor::Split::kNone) {
      table.add({sharding.task.tables[shard.table].name, std::string(to_string(shard.split)),
                 fmt::format("{} … {}", shard.begin, shard.end - 1),
                 fmt::format("{}", plan.rank_of[i])});
    }
  }
  return table.empty() ? "" : "\nTables in parts\n" + table.to_text();
}

/// What of the figures is no measurement of the platform's.
std::string caveats_text(const Plan& plan) {
  std::string text;
  for (const auto& [what, estimate] :
       {std::pair("indices", &plan.time.indices), std::pair("forward", &plan.time.forward),
        std::pair("all-to-all", &plan.time.all_to_all),
        std::pair("backward", &plan.time.backward)}) {
    if (estimate->ns > 0 && (estimate->extrapolated || !estimate->modelled)) {
      text += fmt::format("  {}: {}, {}\n", what, estimate->model,
                          estimate->modelled ? "extrapolated" : "not modelled");
    }
  }
  return text.empty() ? "" : "\nNot measured on this platform, or beyond what was\n" + text;
}

}  // namespace

std::string drawn_text(const predictor::ShardTask& task, const std::string& path) {
  return fmt::format("{}: {} tables, {}\n", path, with_commas(task.tables.size()),
                     bytes_text(bytes_of(task)));
}

std::string sharding_text(const Sharding& sharding) {
  const Plan& chosen = sharding.plans.front();
  return head_text(sharding) + plans_text(sharding) + ranks_text(chosen) + cuts_text(sharding) +
         caveats_text(chosen);
}

}  // namespace understudy::cli
