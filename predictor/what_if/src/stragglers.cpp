#include "predictor/what_if/stragglers.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "predictor/what_if/what_if.h"

namespace understudy::predictor {
namespace {

/// Waits below this are the resolution of profiles' clocks.
constexpr double kLeastWaitNs = 10'000;

/// Only ranks whose own time exceeds the others' by more than this share of the step are tried.
constexpr double kTriedShare = 0.01;

/// The most ranks that are tried as slow together.
constexpr std::size_t kMostSlow = 32;

struct Wait {
  int rank = 0;
  double ns = 0;
};

/// Recorded costs that add each collective's waits to the ranks. Not thread-safe.
class SkewListener final : public WhatIfCosts {
 public:
  SkewListener(const Job& job, const RecordedCosts& costs, Stragglers& found)
      : WhatIfCosts(costs, {}), job_(job), costs_(costs), found_(found) {
    for (int rank = job.world_size(); rank-- > 0;) {
      for (const Instruction& instruction : job.program(rank).instructions) {
        if (is_communication(instruction)) {
          rank_of_[&instruction] = rank;
        }
      }
    }
  }

  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override {
    if (call.ranks > 1 && !et_schema::is_message(call.kind)) {
      add(call);
    }
    return costs_.of_communication(call);
  }

  void finish() const {
    for (auto& [key, collective] : collectives_) {
      const auto& caused = caused_.at(key);
      const auto most = std::ranges::max_element(
          caused, {}, [](const auto& of_rank) { return of_rank.second.ns; });
      if (most != caused.end()) {
        collective.last_rank = most->first;
        collective.last = most->second.calls;
      }
      found_.collectives.push_back(collective);
    }
    std::ranges::stable_sort(found_.collectives, std::ranges::greater{}, &CollectiveSkew::skew_ns);
  }

 private:
  struct Caused {
    double ns = 0;
    std::uint64_t calls = 0;
  };
  using Key = std::pair<et_schema::GroupId, std::string>;

  /// Returns the observed time of each rank; empty unless all have one.
  [[nodiscard]] std::vector<Wait> observed(const GroupComm& call) const {
    std::vector<Wait> times;
    for (const Instruction* side : call.sides) {
      if (const std::optional<double> ns = costs_.observed_ns(*side)) {
        times.push_back({rank_of_.at(side), *ns});
      }
    }
    const bool are_all = times.size() == static_cast<std::size_t>(call.ranks);
    return are_all ? times : std::vector<Wait>();
  }

  void add(const GroupComm& call) const {
    const et_schema::GroupId group = call.sides.front()->comm->group;
    const Key key(group, et_schema::to_string(call.kind));
    CollectiveSkew& collective = collectives_[key];
    auto& caused = caused_[key];
    collective.name = key.second;
    collective.group = job_.groups[group].name;
    collective.ranks = call.ranks;
    ++collective.calls;
    const std::vector<Wait> times = observed(call);
    if (times.empty()) {
      ++collective.unseen;
      return;
    }
    const auto [last, first] = std::ranges::minmax_element(times, {}, &Wait::ns);
    collective.transfer_ns += last->ns;
    double waits_ns = 0;
    for (const Wait& time : times) {
      waits_ns += time.ns - last->ns;
      found_.ranks[static_cast<std::size_t>(time.rank)].waited_ns += time.ns - last->ns;
    }
    collective.skew_ns += waits_ns / call.ranks;
    const double most_ns = first->ns - last->ns;
    collective.most_ns += most_ns;
    if (most_ns < kLeastWaitNs) {
      return;
    }
    ++found_.skewed;
    RankBlame& blamed = found_.ranks[static_cast<std::size_t>(last->rank)];
    const double mean_ns = waits_ns / (call.ranks - 1);
    blamed.caused_ns += mean_ns;
    ++blamed.last;
    caused[last->rank].ns += mean_ns;
    ++caused[last->rank].calls;
  }

  const Job& job_;
  const RecordedCosts& costs_;
  Stragglers& found_;
  std::map<const Instruction*, int> rank_of_;
  mutable std::map<Key, CollectiveSkew> collectives_;
  mutable std::map<Key, std::map<int, Caused>> caused_;
};

const RankBlame& blame_at(const Stragglers& found, int rank) {
  return found.ranks[static_cast<std::size_t>(rank)];
}

/// Sets the own times of a rank, and the others'.
void compare(const Job& job, const std::vector<OwnTimes>& times, int rank, RankBlame& blame) {
  const OwnTimes usual = usual_times(job, times, {rank});
  for (const auto& [part, ns] : times[job.program_of[static_cast<std::size_t>(rank)]]) {
    if (ns > 0) {
      blame.parts.push_back({part, ns, usual.at(part)});
      blame.own_ns += ns;
      blame.usual_ns += usual.at(part);
    }
  }
}

/// Returns the part in which these ranks together take most longer than the others.
OwnPart slow_part(const Stragglers& found) {
  OwnTimes excess_ns;
  for (const int rank : found.slow) {
    for (const PartBlame& part : blame_at(found, rank).parts) {
      excess_ns[part.part] += part.own_ns - part.usual_ns;
    }
  }
  return std::ranges::max_element(excess_ns, {}, &OwnTimes::value_type::second)->first;
}

using Tenths = std::array<double, kTenths>;

/// Returns the times of a program's calls of a part, in order, added up in ten equal numbers.
Tenths tenths_of(const Program& program, const std::vector<PlayedCost>& costs,
                 const OwnPart& part) {
  std::vector<double> calls_ns;
  for (std::size_t at = 0; at < costs.size(); ++at) {
    PlayedCost cost = costs[at];
    for (const OwnEstimate& own : own_estimates(program, program.instructions[at], cost)) {
      if (own.part == part && own.estimate->ns > 0) {
        calls_ns.push_back(own.estimate->ns);
      }
    }
  }
  Tenths tenths{};
  for (std::size_t i = 0; i < calls_ns.size(); ++i) {
    tenths[i * tenths.size() / calls_ns.size()] += calls_ns[i];
  }
  return tenths;
}

/// Sets slow_tenths and tenths.
void count_tenths(const Job& job, const Simulation& simulation, Stragglers& found) {
  Tenths own_ns{};
  std::array<std::vector<double>, kTenths> others_ns;
  for (int rank = 0; rank < job.world_size(); ++rank) {
    const std::uint32_t program = job.program_of[static_cast<std::size_t>(rank)];
    const Tenths tenths =
        tenths_of(*job.programs[program], simulation.costs[program], found.slow_in);
    for (std::size_t i = 0; i < tenths.size(); ++i) {
      if (std::ranges::binary_search(found.slow, rank)) {
        own_ns[i] += tenths[i] / static_cast<double>(found.slow.size());
      } else if (tenths[i] > 0) {
        others_ns[i].push_back(tenths[i]);
      }
    }
  }
  Tenths usual{};
  double all_ns = 0;
  double all_usual_ns = 0;
  for (std::size_t i = 0; i < own_ns.size(); ++i) {
    usual[i] = others_ns[i].empty() ? 0 : usual_ns(others_ns[i]);
    all_ns += own_ns[i];
    all_usual_ns += usual[i];
  }
  for (std::size_t i = 0; i < own_ns.size(); ++i) {
    const double half_excess_ns =
        all_usual_ns > 0 ? (all_ns - all_usual_ns) / 2 * usual[i] / all_usual_ns : 0;
    found.tenths += own_ns[i] > 0 ? 1 : 0;
    found.slow_tenths += own_ns[i] > 0 && own_ns[i] - usual[i] >= half_excess_ns ? 1 : 0;
  }
}

}  // namespace

Stragglers find_stragglers(Job job) {
  const RecordedCosts costs(job);
  job.start_ns = recorded_start_times(job);
  Stragglers found;
  found.has_clocks = !job.start_ns.empty();
  found.ranks.resize(static_cast<std::size_t>(job.world_size()));
  const SkewListener listener(job, costs, found);
  const Simulation simulation = simulate(job, listener);
  listener.finish();
  found.step_ns = simulation.iteration_ns;
  const std::vector<OwnTimes> times = own_times(job, simulation);
  const auto step_with_even = [&](const std::vector<int>& ranks) {
    SimulateOptions options;
    options.spans = false;
    const WhatIfCosts even(costs, {even_ranks(job, times, ranks)});
    return simulate(job, even, options).iteration_ns;
  };
  std::vector<int> order(found.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  found.even_ns = step_with_even(order);
  for (const int rank : order) {
    RankBlame& blame = found.ranks[static_cast<std::size_t>(rank)];
    blame.rank = rank;
    compare(job, times, rank, blame);
    if (blame.excess_ns() >= kTriedShare * found.step_ns) {
      blame.without_ns = step_with_even({rank});
    }
    blame.begin_ns = static_cast<double>(job.start_of(rank));
  }
  // Ranks that are slow together hide each other: alone, none of them shortens the step.
  const double least_ns = kSlowShare * found.step_ns;
  std::erase_if(order, [&](int rank) { return blame_at(found, rank).excess_ns() < least_ns; });
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](int rank) { return blame_at(found, rank).excess_ns(); });
  order.resize(std::min(order.size(), kMostSlow));
  std::vector<double> steps_ns;
  std::vector<int> tried;
  for (const int rank : order) {
    tried.insert(std::ranges::upper_bound(tried, rank), rank);
    steps_ns.push_back(step_with_even(tried));
  }
  found.without_ns = found.step_ns;
  if (!steps_ns.empty()) {
    constexpr double kMostOfIt = 0.8;
    const double best_ns = found.step_ns - std::ranges::min(steps_ns);
    const auto enough = std::ranges::find_if(
        steps_ns, [&](double ns) { return found.step_ns - ns >= kMostOfIt * best_ns; });
    if (best_ns >= least_ns) {
      found.without_ns = *enough;
      found.slow.assign(order.begin(), order.begin() + (enough - steps_ns.begin()) + 1);
      std::ranges::sort(found.slow);
      found.slow_in = slow_part(found);
      count_tenths(job, simulation, found);
      found.is_steady = 2 * found.slow_tenths >= found.tenths &&
                        std::ranges::all_of(job.programs, [](const Program* program) {
                          return program->profile->steps >= kSteadySteps;
                        });
    }
  }
  const bool can_tell_late = found.has_clocks && !has_messages(job);
  for (const RankBlame& rank : found.ranks) {
    const double explained_ns = std::max(rank.excess_ns(), 0.0) + rank.waited_ns;
    if (can_tell_late && rank.caused_ns - explained_ns >= least_ns) {
      found.late.push_back(rank.rank);
    }
  }
  return found;
}

}  // namespace understudy::predictor
