#include "predictor/simulate/simulate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "accounts.h"
#include "channels.h"
#include "engine.h"
#include "plan.h"

namespace understudy::predictor {
namespace {

/// Returns the classes of ranks. Ranks of one program belong to the same groups, so they behave
/// alike unless they send or receive, which connects two of them, or start at different times.
std::vector<RankClass> classes_of_ranks(const Job& job, bool merge) {
  std::vector<bool> can_merge;
  for (const Program* program : job.programs) {
    can_merge.push_back(merge && !has_messages(*program));
  }
  std::vector<RankClass> classes;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> known;
  for (int rank = 0; rank < job.world_size(); ++rank) {
    const std::uint32_t program = job.program_of[static_cast<std::size_t>(rank)];
    if (can_merge[program]) {
      const auto [place, is_new] = known.try_emplace({program, job.start_of(rank)}, classes.size());
      if (!is_new) {
        classes[place->second].ranks.push_back(rank);
        continue;
      }
    }
    classes.push_back({.program = program, .ranks = {rank}});
  }
  return classes;
}

}  // namespace

Simulation simulate(const Job& job, const Costs& costs, const SimulateOptions& options) {
  Simulation result;
  result.classes = classes_of_ranks(job, options.merge_ranks);
  result.costs.resize(job.programs.size());
  std::vector<ProgramPlan> plans;
  for (std::size_t p = 0; p < job.programs.size(); ++p) {
    result.flows.push_back(flow_of(*job.programs[p]));
    plans.push_back(plan_of(*job.programs[p], result.flows.back(), costs, result.costs[p]));
  }
  for (const ProgramPlan& plan : plans) {
    result.outside.push_back(plan.outside);
  }
  const Channels channels = find_channels(job, result.classes, plans, costs, result.costs);
  Engine engine(job, options, plans, channels, result.classes);
  result.events = engine.run();
  result.begin_ns = engine.last_end_ns(1);
  result.end_ns = engine.last_end_ns(0);
  result.iteration_ns = engine.iteration_ns();
  if (options.spans) {
    result.critical_path = critical_path(result.classes, result.begin_ns, result.end_ns);
  }
  return result;
}

}  // namespace understudy::predictor
