#include "predictor/what_if/stragglers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

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

/// Returns the ranks of each stage of a pipeline: of the first, whose messages begin with a send,
/// and of those that first receive from the stage before. Empty if messages go other ways, too.
std::vector<std::vector<int>> stages_of(const Job& job) {
  const auto count = static_cast<std::size_t>(job.world_size());
  std::vector<std::vector<std::size_t>> peers(count);
  std::vector<std::size_t> before(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    bool begins = true;  // until the first batch of messages ends
    for (const Instruction& call : job.program(static_cast<int>(rank)).instructions) {
      if (call.kind == InstructionKind::kP2p) {
        begins = begins && (peers[rank].empty() || call.comm->joins_batch);
        const bool sends = call.comm->kind == CommKind::kSend;
        const auto members =
            job.members_of(own_group(job.groups_of(static_cast<int>(rank)), call.comm->group));
        const int peer = members[static_cast<std::size_t>(call.comm->root_or_peer)];
        peers[rank].push_back(static_cast<std::size_t>(peer));
        if (begins && (sends || peers[rank].size() == 1)) {
          before[rank] = sends ? rank : peers[rank].front();
        }
      }
    }
    if (peers[rank].empty()) {
      return {};
    }
  }
  std::vector<std::vector<int>> stages;
  std::vector<std::size_t> first_of;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::size_t stage = 0;
    std::size_t first = rank;
    for (; before[first] != first && stage < count; ++stage) {
      first = before[first];
    }
    first_of.push_back(first);
    stages.resize(std::max(stages.size(), stage + 1));
    stages[stage].push_back(static_cast<int>(rank));
  }
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (std::ranges::any_of(peers[rank],
                            [&](std::size_t peer) { return first_of[peer] != first_of[rank]; })) {
      return {};
    }
  }
  return stages;
}

/// Returns which ranks are tried as slow, together or alone, the slowest first: the stages of whose
/// ranks all are as slow, and other ranks.
std::vector<std::vector<int>> suspects_of(const Stragglers& found) {
  const double least_ns = kSlowShare * found.step_ns;
  const auto excess_ns = [&](int rank) { return blame_at(found, rank).excess_ns(); };
  std::vector<std::vector<int>> suspects;
  std::set<int> together;
  for (const std::vector<int>& stage : found.stages) {
    const auto [least, most] = std::ranges::minmax(stage, {}, excess_ns);
    if (excess_ns(least) >= least_ns && excess_ns(most) - excess_ns(least) < least_ns) {
      suspects.push_back(stage);
      together.insert(stage.begin(), stage.end());
    }
  }
  for (const RankBlame& rank : found.ranks) {
    if (rank.excess_ns() >= least_ns && !together.contains(rank.rank)) {
      suspects.push_back({rank.rank});
    }
  }
  std::ranges::stable_sort(suspects, std::ranges::greater{},
                           [&](const std::vector<int>& ranks) { return excess_ns(ranks.front()); });
  suspects.resize(std::min(suspects.size(), kMostSlow));
  return suspects;
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

}  // namespace

Stragglers find_stragglers(Job job) {
  const RecordedCosts costs(job);
  job.start_ns = recorded_start_times(job);
  Stragglers found;
  found.has_clocks = !job.start_ns.empty();
  found.ranks.resize(static_cast<std::size_t>(job.world_size()));
  const auto steps_of = [](const Program* program) { return program->profile->steps; };
  found.steps = steps_of(std::ranges::min(job.programs, {}, steps_of));
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
  std::vector<int> all(found.ranks.size());
  std::iota(all.begin(), all.end(), 0);
  found.even_ns = step_with_even(all);
  for (const int rank : all) {
    RankBlame& blame = found.ranks[static_cast<std::size_t>(rank)];
    blame.rank = rank;
    compare(job, times, rank, blame);
    if (blame.excess_ns() >= kTriedShare * found.step_ns) {
      blame.without_ns = step_with_even({rank});
    }
    blame.begin_ns = static_cast<double>(job.start_of(rank));
  }
  found.stages = stages_of(job);
  // Ranks that are slow together hide each other: alone, none of them shortens the step.
  const double least_ns = kSlowShare * found.step_ns;
  const std::vector<std::vector<int>> suspects = suspects_of(found);
  std::vector<double> steps_ns;
  std::vector<std::vector<int>> tried = {{}};
  for (const std::vector<int>& suspect : suspects) {
    tried.push_back(tried.back());
    tried.back().insert(tried.back().end(), suspect.begin(), suspect.end());
    std::ranges::sort(tried.back());
    steps_ns.push_back(step_with_even(tried.back()));
  }
  found.without_ns = found.step_ns;
  if (!steps_ns.empty()) {
    constexpr double kMostOfIt = 0.8;
    const double best_ns = found.step_ns - std::ranges::min(steps_ns);
    const auto enough = std::ranges::find_if(
        steps_ns, [&](double ns) { return found.step_ns - ns >= kMostOfIt * best_ns; });
    if (best_ns >= least_ns) {
      found.without_ns = *enough;
      found.slow = tried[static_cast<std::size_t>(enough - steps_ns.begin()) + 1];
      found.slow_in = slow_part(found);
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
