#include "predictor/what_if/stragglers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "et_schema/model/comm_traits.h"
#include "predictor/what_if/what_if.h"

namespace understudy::predictor {
namespace {

/// Waits below this are the resolution of profiles' clocks.
constexpr double kLeastWaitNs = 10'000;

struct Wait {
  int rank = 0;
  double ns = 0;
};

/// Recorded costs that add each collective's waits to the ranks. Not thread-safe.
class SkewListener final : public Costs {
 public:
  SkewListener(const Job& job, const RecordedCosts& costs, Stragglers& found)
      : job_(job), costs_(costs), found_(found) {
    for (int rank = job.world_size(); rank-- > 0;) {
      for (const Instruction& instruction : job.program(rank).instructions) {
        if (is_communication(instruction)) {
          rank_of_[&instruction] = rank;
        }
      }
    }
  }

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override {
    return costs_.of_operator(program, instruction);
  }
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override {
    return costs_.of_gap(program, instruction);
  }
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override {
    return costs_.of_end(program);
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
    blamed.most_caused_ns = std::max(blamed.most_caused_ns, mean_ns);
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

RankBlame blame_of(const Job& job, const std::vector<OwnTimes>& times, int rank) {
  RankBlame blame{.rank = rank, .parts = {}};
  const OwnTimes usual = usual_times(job, times, {rank});
  for (const auto& [part, ns] : times[job.program_of[static_cast<std::size_t>(rank)]]) {
    if (ns > 0) {
      blame.parts.push_back({part, ns, usual.at(part)});
      blame.own_ns += ns;
      blame.usual_ns += usual.at(part);
    }
  }
  std::ranges::stable_sort(blame.parts, std::ranges::greater{},
                           [](const PartBlame& part) { return part.own_ns - part.usual_ns; });
  return blame;
}

/// Says whether the slow ranks arrived last mostly, and not in one collective above all.
bool is_steady(const Stragglers& found) {
  std::uint64_t last = 0;
  double caused_ns = 0;
  double most_ns = 0;
  for (const int rank : found.slow) {
    const RankBlame& blame = blame_at(found, rank);
    last += blame.last;
    caused_ns += blame.caused_ns;
    most_ns = std::max(most_ns, blame.most_caused_ns);
  }
  return 2 * last >= found.skewed && (last <= 1 || 2 * most_ns <= caused_ns);
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
    RankBlame own = blame_of(job, times, rank);
    blame.rank = rank;
    blame.own_ns = own.own_ns;
    blame.usual_ns = own.usual_ns;
    blame.parts = std::move(own.parts);
    blame.without_ns = step_with_even({rank});
    blame.begin_ns = static_cast<double>(job.start_of(rank));
  }
  // Ranks that are slow together hide each other: alone, none of them shortens the step.
  const double least_ns = kSlowShare * found.step_ns;
  std::erase_if(order, [&](int rank) { return blame_at(found, rank).excess_ns() < least_ns; });
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](int rank) { return blame_at(found, rank).excess_ns(); });
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
      found.is_steady = is_steady(found);
    }
  }
  for (const RankBlame& rank : found.ranks) {
    if (rank.caused_ns - std::max(rank.excess_ns(), 0.0) >= least_ns) {
      found.late.push_back(rank.rank);
    }
  }
  return found;
}

}  // namespace understudy::predictor
