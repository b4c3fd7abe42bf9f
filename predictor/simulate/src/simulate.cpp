#include "predictor/simulate/simulate.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "accounts.h"
#include "channels.h"
#include "engine.h"
#include "plan.h"

namespace understudy::predictor {
namespace {

/// By group that a program names: true if it sends or receives there.
std::map<et_schema::GroupId, bool> groups_in(const Program& program) {
  std::map<et_schema::GroupId, bool> groups;
  for (const Instruction& instruction : program.instructions) {
    if (is_communication(instruction)) {
      bool& has_messages = groups[instruction.comm->group];
      has_messages = has_messages || et_schema::is_message(instruction.comm->kind);
    }
  }
  return groups;
}

/// Returns true if ranks of a class behave alike: each of their groups has members of the same
/// classes in the same order on as many nodes, each sends to others from the same place, and the
/// first rank of a class meets the first ranks of others only, so that these can stand for all.
bool are_alike(const Job& job, const std::vector<RankClass>& classes,
               const std::vector<std::uint32_t>& class_of) {
  const auto shape_of = [&](int rank, et_schema::GroupId group, bool has_place) {
    const std::vector<int> members = job.members_of(group);
    std::vector<std::int64_t> shape;
    for (const int member : members) {
      shape.push_back(class_of[static_cast<std::size_t>(member)]);
    }
    shape.push_back(job.nodes_of(members));
    shape.push_back(has_place ? std::ranges::find(members, rank) - members.begin() : 0);
    return shape;
  };
  for (const RankClass& ranks : classes) {
    const int first = ranks.ranks.front();
    for (const auto& [named, has_messages] : groups_in(job.program(first))) {
      const et_schema::GroupId group = own_group(job.groups_of(first), named);
      const std::vector<int> members = job.members_of(group);
      const bool are_first = std::ranges::all_of(members, [&](int member) {
        const RankClass& other = classes[class_of[static_cast<std::size_t>(member)]];
        return std::ranges::find(members, other.ranks.front()) != members.end();
      });
      const auto shape = shape_of(first, group, has_messages);
      const bool are_equal = std::ranges::all_of(ranks.ranks, [&](int rank) {
        return shape == shape_of(rank, own_group(job.groups_of(rank), named), has_messages);
      });
      if (!are_first || !are_equal) {
        return false;
      }
    }
  }
  return true;
}

/// Returns the classes of ranks that behave alike: those of one program, or each by itself.
std::vector<RankClass> classes_of_ranks(const Job& job, bool merge) {
  std::vector<RankClass> classes;
  std::vector<std::uint32_t> class_of;
  std::map<std::tuple<std::uint32_t, std::int64_t, std::vector<bool>>, std::uint32_t> known;
  std::vector<RankClass> alone;
  for (int rank = 0; rank < job.world_size(); ++rank) {
    const std::uint32_t program = job.program_of[static_cast<std::size_t>(rank)];
    const std::vector<bool> kept = job.kept_apart.empty()
                                       ? std::vector<bool>()
                                       : job.kept_apart[static_cast<std::size_t>(rank)];
    const auto [place, is_new] = known.try_emplace({program, job.start_of(rank), kept},
                                                   static_cast<std::uint32_t>(classes.size()));
    if (is_new) {
      classes.push_back({.program = program, .ranks = {}});
    }
    classes[place->second].ranks.push_back(rank);
    class_of.push_back(place->second);
    alone.push_back({.program = program, .ranks = {rank}});
  }
  return merge && (job.is_partial || are_alike(job, classes, class_of)) ? classes : alone;
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
