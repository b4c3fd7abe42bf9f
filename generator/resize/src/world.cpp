#include "generator/resize/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/slot_extent.h"
#include "exchanges.h"
#include "generator/flow/model_names.h"
#include "shards.h"
#include "sizes.h"
#include "world_plan.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::CommSizes;
using et_schema::GroupId;
using et_schema::ProcessGroup;
using NewGroups = std::map<GroupId, GroupId>;  ///< by recorded group

CommSizes sizes_of(const Instruction& call) {
  return et_schema::traits(call.comm->kind).sizes;
}

bool is_of_parts(const Instruction& call) {
  return sizes_of(call) == CommSizes::kOutputOfAll || sizes_of(call) == CommSizes::kInputOfAll;
}

/// Returns true if tensors are lists with one for each rank.
bool has_tensor_per_rank(const Instruction& call) {
  using enum CommSizes;
  static const std::set<CommSizes> kPerRank = {kOutputPerRank, kInputPerRank, kOutputsOfRoot,
                                               kInputsOfRoot};
  return kPerRank.contains(sizes_of(call)) ||
         (is_exchange(call) && (et_schema::slots_in({call.args[0]}).size() != 1 ||
                                et_schema::slots_in({call.args[1]}).size() != 1));
}

std::int64_t bytes_of(const Program& program, const Instruction& call, std::size_t argument) {
  std::int64_t bytes = 0;
  if (argument < call.args.size()) {
    et_schema::for_each_slot({call.args[argument]}, [&](SlotId slot) {
      bytes += element_count(program.slots[slot]) * et_schema::item_size(program.slots[slot].dtype);
    });
  }
  return bytes;
}

std::vector<const Instruction*> calls_of(const Program& program) {
  std::vector<const Instruction*> calls;
  each_communication(program.instructions, [&](const Instruction& call) {
    if (sizes_of(call) != CommSizes::kNoCommunication) {
      calls.push_back(&call);
    }
  });
  return calls;
}

std::string rule_text(const WorldPlan& plan, GroupId id, const et_schema::ScaledGroup& group) {
  if (!plan.grows(id)) {
    return group.sent_bytes_before == group.sent_bytes_after
               ? "keeps its ranks, and its calls their sizes"
               : "keeps its ranks; parts of sharded parameters are smaller or larger";
  }
  const GroupKind kind = plan.kinds()[id]->kind;
  if (kind == GroupKind::kSharded) {
    return "what is gathered and scattered keeps its size, a rank's part is a smaller or larger "
           "one; sums keep their size";
  }
  return kind == GroupKind::kExpert
             ? "each rank sends as many rows as it did, to all ranks; sums keep their size"
             : "sums and broadcasts keep their size";
}

/// Records for the user how each recorded group was scaled: its rule, and the bytes of the first
/// rank in it.
class WorldRules {
 public:
  /// `plan` must outlive this.
  explicit WorldRules(const WorldPlan& plan) : plan_(plan), groups_(plan.bench().groups.size()) {}

  /// Records a recorded program and the program made from it.
  void note(const Program& recorded, const Program& program) {
    const std::vector<const Instruction*> before = calls_of(recorded);
    const std::vector<const Instruction*> after = calls_of(program);
    std::set<GroupId> now;
    for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
      const GroupId id = before[i]->comm->group;
      et_schema::ScaledGroup& group = groups_[id];
      if (group.calls > 0 && !now.contains(id)) {
        continue;
      }
      now.insert(id);
      ++group.calls;
      group.sent_bytes_before += bytes_of(recorded, *before[i], 0);
      group.sent_bytes_after += bytes_of(program, *after[i], 0);
      group.received_bytes_before += bytes_of(recorded, *before[i], 1);
      group.received_bytes_after += bytes_of(program, *after[i], 1);
    }
  }

  [[nodiscard]] std::vector<et_schema::ScaledGroup> groups() const {
    std::vector<et_schema::ScaledGroup> all;
    for (GroupId id = 0; id < groups_.size(); ++id) {
      if (groups_[id].calls == 0) {
        continue;
      }
      const DecidedKind& decided = *plan_.kinds()[id];
      et_schema::ScaledGroup& group = all.emplace_back(groups_[id]);
      group.name = plan_.bench().groups[id].name;
      group.description = plan_.bench().groups[id].description;
      group.kind = std::string(to_string(decided.kind));
      group.why = decided.why;
      group.rule = rule_text(plan_, id, group);
      group.ranks_before = static_cast<std::int64_t>(plan_.before().ranks_of(id).size());
      group.ranks_after = plan_.count_after(id);
    }
    return all;
  }

 private:
  const WorldPlan& plan_;
  std::vector<et_schema::ScaledGroup> groups_;  ///< by recorded group
};

/// Builds the new job, rank by rank.
class Scaling {
 public:
  Scaling(const WorldPlan& plan, const AskSizes& ask)
      : plan_(plan), bench_(plan.bench()), ask_(ask), exchanges_(plan), rules_(plan) {
    for (const Program& program : bench_.programs) {
      auto& calls = calls_.emplace_back();
      each_communication(program.instructions,
                         [&](const Instruction& call) { calls.push_back(&call); });
    }
  }

  [[nodiscard]] ScaledWorld scaled() {
    add_group(0, std::vector<std::int64_t>(static_cast<std::size_t>(plan_.after().world_size())));
    world_.groups.front().ranks.clear();  // the whole world
    world_.scaled.world_size = plan_.before().world_size();
    for (std::int64_t rank = 0; rank < plan_.after().world_size(); ++rank) {
      add_rank(rank);
    }
    world_.scaled.groups = rules_.groups();
    return std::move(world_);
  }

 private:
  /// Returns the traced job's own group of these ranks, if a rank lists it. Among groups of the
  /// same ranks, the n-th stands for the n-th.
  [[nodiscard]] GroupId listed(GroupId recorded, const std::vector<std::int64_t>& ranks) const {
    const auto has = [](const auto& wanted) {
      return [&wanted](const ProcessGroup& group) { return group.ranks == wanted; };
    };
    const auto begin = bench_.groups.begin();
    auto before = std::count_if(begin, begin + recorded, has(begin[recorded].ranks));
    const auto found = std::find_if(begin, bench_.groups.end(), [&](const ProcessGroup& group) {
      return has(ranks)(group) && before-- == 0;
    });
    return found == bench_.groups.end() ? recorded : static_cast<GroupId>(found - begin);
  }

  GroupId add_group(GroupId recorded, std::vector<std::int64_t> ranks) {
    ProcessGroup group = bench_.groups[plan_.keeps_size() ? listed(recorded, ranks) : recorded];
    group.size = static_cast<std::int64_t>(ranks.size());
    for (const std::string base = group.name; !names_.insert(group.name).second;) {
      // Among groups with the same first rank, the second and later ones are numbered.
      const std::size_t number = numbers_[{base, ranks.front()}]++;
      group.name =
          fmt::format("{}@{}{}", base, ranks.front(), number > 0 ? fmt::format(".{}", number) : "");
    }
    group.ranks = std::move(ranks);
    world_.groups.push_back(std::move(group));
    world_.recorded_ranks.push_back(static_cast<int>(plan_.before().ranks_of(recorded).size()));
    return static_cast<GroupId>(world_.groups.size() - 1);
  }

  /// Returns the new group of a rank for a recorded group. Among groups with the same ranks, the
  /// n-th remains the n-th.
  GroupId new_group(GroupId recorded, std::int64_t rank, std::size_t number) {
    std::vector<std::int64_t> ranks = plan_.ranks_after(recorded, rank);
    if (recorded == 0 && static_cast<std::int64_t>(ranks.size()) == plan_.after().world_size()) {
      return 0;
    }
    const auto key = std::pair(ranks, number);
    const auto found = made_.find(key);
    return found != made_.end() ? found->second
                                : made_[key] = add_group(recorded, std::move(ranks));
  }

  NewGroups groups_for(std::int64_t rank) {
    std::set<GroupId> recorded;
    for (const Instruction* call : calls_[plan_.source(rank).program]) {
      recorded.insert(call->comm->group);
    }
    NewGroups groups;
    std::map<std::vector<std::int64_t>, std::size_t> seen;
    for (const GroupId group : recorded) {
      const std::size_t number = plan_.kinds()[group] ? seen[plan_.before().ranks_of(group)]++ : 0;
      groups[group] = new_group(group, rank, number);
    }
    return groups;
  }

  void add_rank(std::int64_t rank) {
    const WorldSource& source = plan_.source(rank);
    const NewGroups groups = groups_for(rank);
    world_.source_of.push_back(source.program);
    world_.scaled.ranks.push_back(bench_.recorded_rank(source.program));
    // Only a job of another size takes parts of tensors by the recorded rank.
    const std::int64_t recorded_rank = plan_.keeps_size() ? 0 : source.rank;
    const auto key = std::tuple(source.program, recorded_rank, roots_for(rank),
                                has_own_program(source.program) ? rank : -1);
    const auto [known, is_new] = programs_.try_emplace(
        key, Made{static_cast<std::uint32_t>(world_.programs.size()), groups});
    const Made& made = known->second;
    world_.program_of.push_back(made.program);
    if (is_new) {
      world_.programs.push_back(program_for(rank, groups));
    }
    et_schema::OwnGroups& own = world_.own_groups.emplace_back();
    for (const auto& [recorded, named] : made.groups) {
      if (groups.at(recorded) != named) {
        own.push_back({named, groups.at(recorded)});
      }
    }
  }

  /// Returns roots and peers of the calls of a new rank.
  [[nodiscard]] std::vector<std::int64_t> roots_for(std::int64_t rank) const {
    std::vector<std::int64_t> roots;
    for (const Instruction* call : calls_[plan_.source(rank).program]) {
      roots.push_back(moved_root(rank, *call));
    }
    return roots;
  }

  /// Returns true if exchanges or parts differ by rank.
  [[nodiscard]] bool has_own_program(std::size_t program) const {
    return !plan_.shares_programs() &&
           std::ranges::any_of(calls_[program], [&](const Instruction* call) {
             return plan_.grows(call->comm->group) && (is_exchange(*call) || is_of_parts(*call));
           });
  }

  Program program_for(std::int64_t rank, const NewGroups& groups) {
    const Program& recorded = bench_.programs[plan_.source(rank).program];
    Program program = recorded;
    divide_parts(rank, program);
    std::map<GroupId, std::size_t> exchanges;
    each_communication(program.instructions, [&](Instruction& call) {
      const GroupId before = call.comm->group;
      if (plan_.grows(before)) {
        check_call(rank, call);
        if (is_exchange(call)) {
          world_.has_other_shapes |= exchanges_.change(rank, groups.at(before), before,
                                                       exchanges[before]++, call, program);
        }
      }
      call.comm->root_or_peer = moved_root(rank, call);
      call.comm->group = groups.at(before);
    });
    rules_.note(recorded, program);
    return program;
  }

  void check_call(std::int64_t rank, const Instruction& call) const {
    const GroupId group = call.comm->group;
    const std::string expected = "a call whose tensors do not grow with the ranks";
    if (has_tensor_per_rank(call)) {
      refuse_call(plan_, rank, group, call, expected, "a tensor for each of them");
    }
    if (is_of_parts(call) && plan_.kinds()[group]->kind != GroupKind::kSharded) {
      refuse_call(plan_, rank, group, call, expected,
                  "a tensor of all ranks' data, which would be as many times as large",
                  fmt::format("--group {}=sharded, if it gathers parts of parameters",
                              bench_.groups[group].name));
    }
  }

  /// Returns the root or peer, a rank of the group, of a new rank's call.
  [[nodiscard]] std::int64_t moved_root(std::int64_t rank, const Instruction& call) const {
    const et_schema::CommInfo& comm = *call.comm;
    const Mesh& was = plan_.before();
    const std::size_t axis = plan_.axis();
    const bool is_message = et_schema::is_message(comm.kind);
    if (!plan_.kinds()[comm.group] || (!is_message && !et_schema::traits(comm.kind).has_root)) {
      return comm.root_or_peer;
    }
    const std::vector<std::int64_t> ranks = was.ranks_of(comm.group);
    if (comm.root_or_peer < 0 || comm.root_or_peer >= static_cast<std::int64_t>(ranks.size())) {
      return comm.root_or_peer;
    }
    Mesh::Coordinates place = was.place_of(ranks[static_cast<std::size_t>(comm.root_or_peer)]);
    const Mesh::Coordinates from = was.place_of(bench_.recorded_rank(plan_.source(rank).program));
    const Mesh::Coordinates own = plan_.after().place_of(rank);
    if (is_message && !plan_.keeps_size() && place[axis] != from[axis]) {
      refuse_call(plan_, rank, comm.group, call, "messages between ranks that keep their number",
                  fmt::format("one along the {} ranks that become {}", plan_.size_before(),
                              plan_.size_after()));
    }
    const std::vector<bool>& along = was.along(comm.group);
    for (std::size_t i = 0; i < place.size(); ++i) {
      // The peer of a message is elsewhere on the axes on which the recorded peer was, and beside
      // this rank on all others, also if the group is that of all ranks.
      const bool is_elsewhere = along[i] && !(is_message && place[i] == from[i]);
      place[i] = is_elsewhere ? place[i] : own[i];
    }
    place[axis] %= plan_.size_after();  // of a root: the axis may have become shorter
    return plan_.position_after(comm.group, plan_.after().rank_at(place));
  }

  /// Divides sharded parameters anew.
  void divide_parts(std::int64_t rank, Program& program) {
    const WorldSource& source = plan_.source(rank);
    const Program& recorded = bench_.programs[source.program];
    std::set<GroupId> groups;
    each_communication(recorded.instructions, [&](const Instruction& call) {
      const GroupId group = call.comm->group;
      if (plan_.grows(group) && plan_.kinds()[group]->kind == GroupKind::kSharded &&
          is_of_parts(call)) {
        groups.insert(group);
      }
    });
    if (groups.empty()) {
      return;
    }
    const GroupId group = *groups.begin();
    const auto before = static_cast<std::int64_t>(plan_.before().ranks_of(group).size());
    const std::int64_t after = plan_.count_after(group);
    const Shards& shards = shards_
                               .try_emplace(source.program, recorded, groups, before, after,
                                            static_cast<int>(source.rank), ask_)
                               .first->second;
    world_.dropped_bodies += shards.apply(program, plan_.position_after(group, rank));
    world_.has_other_shapes |= before != after;
  }

  const WorldPlan& plan_;
  const Bench& bench_;
  const AskSizes& ask_;
  Exchanges exchanges_;
  WorldRules rules_;
  ScaledWorld world_;
  std::set<std::string> names_;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> numbers_;
  std::vector<std::vector<const Instruction*>> calls_;  ///< by recorded program
  std::map<std::pair<std::vector<std::int64_t>, std::size_t>, GroupId> made_;
  struct Made {
    std::uint32_t program = 0;
    NewGroups groups;  ///< that it names
  };
  std::map<std::tuple<std::size_t, std::int64_t, std::vector<std::int64_t>, std::int64_t>, Made>
      programs_;
  std::map<std::size_t, Shards> shards_;  ///< by recorded program
};

/// Removes recorded times that are no longer valid, and records the user's options.
void finish_program(const ScaledWorld& world, const WorldSize& size, Program& program) {
  if (world.has_other_shapes) {
    forget_times(program);
  } else {
    each_communication(program.instructions, [&](Instruction& call) {
      const GroupId group = call.comm->group;
      const std::size_t ranks = world.groups[group].ranks.empty()
                                    ? world.program_of.size()
                                    : world.groups[group].ranks.size();
      if (static_cast<std::size_t>(world.recorded_ranks[group]) != ranks) {
        call.timing.reset();
      }
    });
  }
  // Copies replace the missing ranks.
  program.losses.add(et_schema::Loss::kMissingRanks,
                     0 - program.losses[et_schema::Loss::kMissingRanks]);
  program.selection.filters.push_back(fmt::format("--world-size {}", world.program_of.size()));
  for (const auto& [name, kind] : size.kinds) {
    program.selection.filters.push_back(fmt::format("--group {}={}", name, to_string(kind)));
  }
}

/// Returns the sizes among `sizes` that work, by trying each.
std::string those_that_work(const Bench& bench, WorldSize size, const std::vector<int>& sizes,
                            const AskSizes& ask) {
  std::vector<int> work;
  for (const int ranks : sizes) {
    size.ranks = ranks;
    try {
      const WorldPlan plan(bench, size);
      static_cast<void>(Scaling(plan, ask).scaled());
      work.push_back(ranks);
    } catch (const WorldDoesNotFit&) {
    } catch (const et_schema::Error&) {
    }
  }
  return work.empty() ? "capture the job on that number of ranks"
                      : fmt::format("sizes that work: {}", fmt::join(work, ", "));
}

}  // namespace

ScaledWorld with_world_size(const Bench& traced, const WorldSize& size, const AskSizes& ask) {
  Bench bench = traced;  // the programs are shared
  bench.programs.separate();
  const WorldPlan plan(bench, size);
  try {
    return Scaling(plan, ask).scaled();
  } catch (const WorldDoesNotFit& error) {
    et_schema::ErrorContext context = error.context;
    context.hint = those_that_work(bench, size, plan.others(), ask);
    throw et_schema::bad_input(kNoOtherWorld, std::move(context));
  }
}

Bench bench_of(const Bench& recorded, ScaledWorld world, const WorldSize& size) {
  Bench bench;
  bench.tool_version = recorded.tool_version;
  bench.op_maps = recorded.op_maps;
  bench.groups = world.groups;
  bench.scaled = std::move(world.scaled);
  std::vector<std::optional<std::size_t>> first_of(world.programs.size());  // by program: a rank
  for (std::size_t rank = 0; rank < world.program_of.size(); ++rank) {
    const std::size_t program = world.program_of[rank];
    const std::size_t source = world.source_of[rank];
    if (first_of[program]) {
      bench.programs.push_same_as(*first_of[program], world.own_groups[rank]);
    } else {
      first_of[program] = rank;
      finish_program(world, size, world.programs[program]);
      bench.programs.push_back(std::move(world.programs[program]));
    }
    if (source < recorded.sources.size()) {
      bench.sources.push_back(recorded.sources[source]);
    }
    if (source < recorded.origins.size()) {
      bench.origins.push_back(recorded.origins[source]);
    }
  }
  return bench;
}

}  // namespace understudy::generator
