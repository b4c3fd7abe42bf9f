#include "generator/resize/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "batch_rules.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/support/error.h"
#include "exchanges.h"
#include "group_kinds.h"
#include "mesh.h"
#include "shards.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::CommInfo;
using et_schema::CommSizes;
using et_schema::GroupId;
using et_schema::Instruction;
using et_schema::ProcessGroup;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

using Kinds = std::vector<std::optional<DecidedKind>>;

CommSizes sizes_of(const Instruction& call) {
  return et_schema::traits(call.comm->kind).sizes;
}

bool is_exchange(const Instruction& call) {
  return sizes_of(call) == CommSizes::kEqualParts || sizes_of(call) == CommSizes::kSplits;
}

bool is_of_parts(const Instruction& call) {
  return sizes_of(call) == CommSizes::kOutputOfAll || sizes_of(call) == CommSizes::kInputOfAll;
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

/// Whom each new rank does as.
struct Source {
  std::int64_t rank = 0;    ///< in the recorded job
  std::size_t program = 0;  ///< in the benchmark
};

class Scaling {
 public:
  Scaling(const Bench& bench, const WorldSize& size)
      : bench_(bench),
        kinds_(decide_kinds(bench, size.kinds)),
        before_(bench, kinds_),
        axis_(before_.growing_axis(kinds_)),
        ranks_per_program_(size.ranks_per_program),
        after_(before_.with_size(axis_, ranks_along(size))) {}

  [[nodiscard]] ScaledWorld scaled() {
    begin_groups();
    find_sources();
    check_alike();
    for (std::int64_t rank = 0; rank < after_.world_size(); ++rank) {
      add_rank(rank);
    }
    finish_rules();
    return std::move(world_);
  }

  /// Numbers of ranks that may do where this one does not.
  [[nodiscard]] std::vector<int> others() const {
    std::set<int> others;
    const std::int64_t along = before_.axes()[axis_].size;
    for (std::int64_t times = 1; times <= 8; times *= 2) {
      for (const std::int64_t size : {along % times == 0 ? along / times : along, along * times}) {
        others.insert(static_cast<int>(before_.world_size() / along * size));
      }
    }
    others.erase(static_cast<int>(after_.world_size()));
    return {others.begin(), others.end()};
  }

 private:
  /// How many ranks there are along the axis that grows or shrinks.
  [[nodiscard]] std::int64_t ranks_along(const WorldSize& size) const {
    const std::int64_t others = before_.world_size() / before_.axes()[axis_].size;
    const std::int64_t ranks =
        size.ranks > 0 ? size.ranks : before_.world_size() * size.ranks_per_program;
    if (ranks % others != 0) {
      throw et_schema::bad_input(
          kNoOtherWorld, {.field = "--world-size",
                          .expected = fmt::format("a multiple of {}: {}, {}, {}, …", others, others,
                                                  2 * others, 3 * others),
                          .got = fmt::format("{}", ranks),
                          .hint = fmt::format("{} of {} ranks keep their groups' sizes", others,
                                              before_.world_size())});
    }
    const std::int64_t along = ranks / others;
    const std::int64_t most = before_.axes()[axis_].size * ranks_per_program_;
    if (ranks_per_program_ > 0 && (along % ranks_per_program_ != 0 || along > most)) {
      throw et_schema::bad_input(
          kNoOtherWorld, {.field = "--ranks-per-program",
                          .expected = fmt::format("a multiple of {} ranks, at most {}",
                                                  others * ranks_per_program_, others * most),
                          .got = fmt::format("{}", ranks)});
    }
    return along;
  }

  void begin_groups() {
    world_.groups.push_back(bench_.groups.front());
    world_.groups.front().ranks.clear();
    world_.groups.front().size = after_.world_size();
    world_.recorded_ranks.push_back(static_cast<int>(before_.world_size()));
    world_.kinds.push_back(kinds_.front() ? kinds_.front()->kind : GroupKind::kData);
    names_.insert(bench_.groups.front().name);
    world_.scaled.world_size = before_.world_size();
    shards_.resize(bench_.programs.size());
    rules_.resize(bench_.groups.size());
  }

  void find_sources() {
    for (std::int64_t rank = 0; rank < after_.world_size(); ++rank) {
      Mesh::Coordinates place = after_.place_of(rank);
      place[axis_] = ranks_per_program_ > 0 ? place[axis_] / ranks_per_program_
                                            : place[axis_] % before_.axes()[axis_].size;
      const std::int64_t recorded = before_.rank_at(place);
      sources_.push_back({recorded, program_as(recorded)});
    }
  }

  /// The program of a recorded rank, or of one that stands for it.
  [[nodiscard]] std::size_t program_as(std::int64_t rank) const {
    std::optional<std::size_t> other;
    for (std::size_t i = 0; i < bench_.programs.size(); ++i) {
      if (bench_.recorded_rank(i) == rank) {
        return i;
      }
      if (!other && is_like(bench_.recorded_rank(i), rank)) {
        other = i;
      }
    }
    if (other) {
      return *other;
    }
    throw et_schema::bad_input(
        kNoOtherWorld, {.rank = static_cast<int>(rank),
                        .field = "traces",
                        .expected = "a rank of each stage of the pipeline",
                        .got = fmt::format("ranks {}", fmt::join(bench_.partial->ranks, ", "))});
  }

  /// Ranks that differ along no axis of a pipeline call the same operators.
  [[nodiscard]] bool is_like(std::int64_t a, std::int64_t b) const {
    const Mesh::Coordinates at = before_.place_of(a);
    const Mesh::Coordinates bt = before_.place_of(b);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] != bt[i] && before_.axes()[i].kind == GroupKind::kPipeline) {
        return false;
      }
    }
    return true;
  }

  static std::vector<const Instruction*> work_of(const Program& program) {
    std::vector<const Instruction*> work;
    for (const Instruction& instruction : program.instructions) {
      if (instruction.kind != et_schema::InstructionKind::kMarker &&
          instruction.kind != et_schema::InstructionKind::kAlias) {
        work.push_back(&instruction);
      }
    }
    return work;
  }

  /// Ranks along the axis call the same operators in the same order.
  void check_alike() const {
    for (std::size_t program = 1; program < bench_.programs.size(); ++program) {
      const std::int64_t rank = bench_.recorded_rank(program);
      Mesh::Coordinates place = before_.place_of(rank);
      place[axis_] = 0;
      const std::size_t as = program_as(before_.rank_at(place));
      check_alike(bench_.programs[as], bench_.recorded_rank(as), bench_.programs[program],
                  static_cast<int>(rank));
    }
  }

  static void check_alike(const Program& model, int model_rank, const Program& program, int rank) {
    const std::vector<const Instruction*> first = work_of(model);
    const std::vector<const Instruction*> other = work_of(program);
    const auto [a, b] = std::mismatch(
        first.begin(), first.end(), other.begin(), other.end(),
        [](const Instruction* x, const Instruction* y) { return x->name == y->name; });
    if (a == first.end() && b == other.end()) {
      return;
    }
    const auto name = [](const auto& at, const auto& end) {
      return at == end ? std::string("the step's end") : (*at)->name;
    };
    et_schema::ErrorContext context{
        .rank = rank,
        .field = "--world-size",
        .expected = fmt::format("{}, as rank {} calls there", name(a, first.end()), model_rank),
        .got = name(b, other.end()),
        .hint = "capture the job on that number of ranks"};
    if (b != other.end()) {
      context.node = (*b)->node_id;
    }
    throw et_schema::bad_input(kNoOtherWorld, std::move(context));
  }

  /// The groups that a program communicates in, in order.
  static std::set<GroupId> groups_in(const Program& program) {
    std::set<GroupId> groups;
    each_communication(program.instructions,
                       [&](const Instruction& call) { groups.insert(call.comm->group); });
    return groups;
  }

  [[nodiscard]] bool grows(GroupId recorded) const {
    return kinds_[recorded] && before_.along(recorded)[axis_];
  }

  /// The new job's group of what a recorded one is to a rank. Of groups with the same ranks the
  /// n-th stays the n-th.
  GroupId new_group(GroupId recorded, std::int64_t rank, std::size_t number) {
    const bool is_known = kinds_[recorded].has_value();
    const std::vector<bool> along =
        is_known ? before_.along(recorded) : std::vector<bool>(after_.axes().size(), true);
    const std::vector<std::int64_t> ranks = after_.ranks_along(along, after_.place_of(rank));
    if (recorded == 0 && static_cast<std::int64_t>(ranks.size()) == after_.world_size()) {
      return 0;
    }
    const auto key = std::pair(ranks, number);
    if (const auto found = made_.find(key); found != made_.end()) {
      return found->second;
    }
    ProcessGroup group = bench_.groups[recorded];
    group.ranks = ranks;
    group.size = static_cast<std::int64_t>(ranks.size());
    for (const std::string base = group.name; !names_.insert(group.name).second;) {
      group.name =
          fmt::format("{}@{}{}", base, ranks.front(), number > 0 ? fmt::format(".{}", number) : "");
      if (names_.contains(group.name)) {
        number += names_.size();
      }
    }
    const auto id = static_cast<GroupId>(world_.groups.size());
    world_.groups.push_back(std::move(group));
    world_.recorded_ranks.push_back(static_cast<int>(before_.ranks_of(recorded).size()));
    world_.kinds.push_back(is_known ? kinds_[recorded]->kind : GroupKind::kData);
    return made_[key] = id;
  }

  void add_rank(std::int64_t rank) {
    const Source& source = sources_[static_cast<std::size_t>(rank)];
    std::map<GroupId, GroupId> groups;
    std::map<std::vector<std::int64_t>, std::size_t> seen;
    for (const GroupId group : groups_in(bench_.programs[source.program])) {
      const std::size_t number = kinds_[group] ? seen[before_.ranks_of(group)]++ : 0;
      groups[group] = new_group(group, rank, number);
    }
    world_.source_of.push_back(source.program);
    world_.scaled.ranks.push_back(bench_.recorded_rank(source.program));
    const bool is_own = has_own_program(source.program);
    const auto key = std::tuple(source.program, source.rank, groups, is_own ? rank : -1);
    const auto [known, is_new] =
        programs_.try_emplace(key, static_cast<std::uint32_t>(world_.programs.size()));
    world_.program_of.push_back(known->second);
    if (is_new) {
      world_.programs.push_back(program_for(rank, groups));
    }
  }

  /// Exchanges and parts differ from rank to rank.
  [[nodiscard]] bool has_own_program(std::size_t program) const {
    bool is_own = false;
    each_communication(bench_.programs[program].instructions, [&](const Instruction& call) {
      is_own = is_own || (grows(call.comm->group) && (is_exchange(call) || is_of_parts(call)));
    });
    return is_own;
  }

  Program program_for(std::int64_t rank, const std::map<GroupId, GroupId>& groups) {
    const Source& source = sources_[static_cast<std::size_t>(rank)];
    const Program& recorded = bench_.programs[source.program];
    Program program = recorded;
    divide_parts(source, rank, program);
    std::map<GroupId, std::size_t> exchanges;
    each_communication(program.instructions, [&](Instruction& call) {
      CommInfo& comm = *call.comm;
      const GroupId before = comm.group;
      if (grows(before)) {
        check_call(call, source);
        if (is_exchange(call)) {
          exchange(rank, groups.at(before), before, exchanges[before]++, call, program);
        }
      }
      comm.group = groups.at(before);
      move_root(source, rank, before, call);
    });
    note_rules(recorded, program);
    return program;
  }

  void check_call(const Instruction& call, const Source& source) const {
    const CommSizes sizes = sizes_of(call);
    const GroupKind kind = kinds_[call.comm->group]->kind;
    std::string got;
    if (et_schema::is_message(call.comm->kind)) {
      return;  // move_root() tells whether it stays within its place
    }
    if (sizes == CommSizes::kOutputPerRank || sizes == CommSizes::kInputPerRank ||
        sizes == CommSizes::kOutputsOfRoot || sizes == CommSizes::kInputsOfRoot) {
      got = "a tensor for each of them";
    } else if (is_exchange(call) && (et_schema::slots_in({call.args[0]}).size() != 1 ||
                                     et_schema::slots_in({call.args[1]}).size() != 1)) {
      got = "a tensor for each of them";
    } else if (is_of_parts(call) && kind != GroupKind::kSharded) {
      got = "a tensor of all ranks' data, which would be as many times as large";
    }
    if (!got.empty()) {
      refuse_call(call, source, "a call whose tensors do not grow with the ranks", std::move(got),
                  is_of_parts(call)
                      ? fmt::format("--group {}=sharded, if it gathers parts of parameters",
                                    bench_.groups[call.comm->group].name)
                      : "capture the job on that number of ranks");
    }
  }

  [[noreturn]] void refuse_call(const Instruction& call, const Source& source, std::string expected,
                                std::string got, std::string hint) const {
    throw et_schema::bad_input(
        kNoOtherWorld,
        {.rank = static_cast<int>(source.rank),
         .node = call.node_id,
         .field = fmt::format("{} in group '{}'", et_schema::to_string(call.comm->kind),
                              bench_.groups[call.comm->group].name),
         .expected = std::move(expected),
         .got = std::move(got),
         .hint = std::move(hint)});
  }

  /// Roots are ranks of the group, and so are peers.
  void move_root(const Source& source, std::int64_t rank, GroupId before, Instruction& call) const {
    CommInfo& comm = *call.comm;
    const bool is_message = et_schema::is_message(comm.kind);
    if (!kinds_[before] || (!is_message && !et_schema::traits(comm.kind).has_root)) {
      return;
    }
    const std::vector<std::int64_t> ranks = before_.ranks_of(before);
    if (comm.root_or_peer < 0 || comm.root_or_peer >= static_cast<std::int64_t>(ranks.size())) {
      return;
    }
    Mesh::Coordinates place = before_.place_of(ranks[static_cast<std::size_t>(comm.root_or_peer)]);
    const Mesh::Coordinates own = after_.place_of(rank);
    if (is_message) {
      if (place[axis_] != before_.place_of(source.rank)[axis_]) {
        Instruction as_recorded = call;
        as_recorded.comm->group = before;
        refuse_call(as_recorded, source, "messages between ranks that keep their number",
                    fmt::format("one along the {} ranks that become {}", before_.axes()[axis_].size,
                                after_.axes()[axis_].size),
                    "capture the job on that number of ranks");
      }
      place[axis_] = own[axis_];
    } else {
      place[axis_] %= after_.axes()[axis_].size;
    }
    for (std::size_t i = 0; i < place.size(); ++i) {
      place[i] = before_.along(before)[i] ? place[i] : own[i];
    }
    const std::vector<std::int64_t> now = after_.ranks_along(before_.along(before), own);
    comm.root_or_peer = std::ranges::find(now, after_.rank_at(place)) - now.begin();
  }

  // Parts of sharded parameters.

  void divide_parts(const Source& source, std::int64_t rank, Program& program) {
    std::set<GroupId>& groups = shard_groups_[source.program];
    std::unique_ptr<Shards>& shards = shards_[source.program];
    if (!shards) {
      each_communication(
          bench_.programs[source.program].instructions, [&](const Instruction& call) {
            const GroupId group = call.comm->group;
            if (grows(group) && kinds_[group]->kind == GroupKind::kSharded && is_of_parts(call)) {
              groups.insert(group);
            }
          });
      if (groups.empty()) {
        return;
      }
      const auto size = static_cast<std::int64_t>(before_.ranks_of(*groups.begin()).size());
      shards =
          std::make_unique<Shards>(bench_.programs[source.program], groups, size,
                                   size / before_.axes()[axis_].size * after_.axes()[axis_].size,
                                   static_cast<int>(source.rank));
    }
    const std::vector<bool>& along = before_.along(*groups.begin());
    const auto position = [&along](const Mesh& mesh, std::int64_t of) {
      const std::vector<std::int64_t> ranks = mesh.ranks_along(along, mesh.place_of(of));
      return std::ranges::find(ranks, of) - ranks.begin();
    };
    world_.dropped_bodies += shards->apply(
        program, position(before_, bench_.recorded_rank(source.program)), position(after_, rank));
    world_.has_other_shapes = true;
  }

  // Exchanges.

  /// The exchanges of a recorded program in one group, in order.
  [[nodiscard]] std::vector<const Instruction*> exchanges_of(std::size_t program,
                                                             GroupId group) const {
    std::vector<const Instruction*> calls;
    each_communication(bench_.programs[program].instructions, [&](const Instruction& call) {
      if (call.comm->group == group && is_exchange(call)) {
        calls.push_back(&call);
      }
    });
    return calls;
  }

  [[nodiscard]] static std::int64_t rows_of(const Program& program, const Instruction& call,
                                            std::size_t argument) {
    const Slot& slot = program.slots[et_schema::slots_in({call.args[argument]}).front()];
    return slot.sizes.empty() ? 1 : slot.sizes[0];
  }

  [[nodiscard]] static std::vector<std::int64_t> splits_of(const std::vector<std::int64_t>& splits,
                                                           std::int64_t rows, std::size_t ranks) {
    return splits.empty()
               ? std::vector<std::int64_t>(ranks, rows / static_cast<std::int64_t>(ranks))
               : splits;
  }

  /// The n-th exchange of a new group, as all of its ranks take part in it.
  const std::vector<std::vector<std::int64_t>>& dealt(std::int64_t rank, GroupId group,
                                                      GroupId recorded, std::size_t number) {
    const auto [found, is_new] = dealt_.try_emplace({group, number});
    if (!is_new) {
      return found->second;
    }
    const std::vector<bool>& along = before_.along(recorded);
    std::vector<RecordedExchange> ranks;
    for (const std::int64_t member : after_.ranks_along(along, after_.place_of(rank))) {
      const Source& source = sources_[static_cast<std::size_t>(member)];
      const Program& program = bench_.programs[source.program];
      const std::vector<std::int64_t> recorded_ranks =
          before_.ranks_along(along, before_.place_of(source.rank));
      const auto position = static_cast<std::size_t>(
          std::ranges::find(recorded_ranks, source.rank) - recorded_ranks.begin());
      // Its group may be another one, as of another row of the grid.
      const auto groups = groups_in(program);
      const auto own = std::ranges::find_if(groups, [&](GroupId one) {
        return kinds_[one] && before_.along(one) == along &&
               !exchanges_of(source.program, one).empty();
      });
      const std::vector<const Instruction*> calls = own == groups.end()
                                                        ? std::vector<const Instruction*>()
                                                        : exchanges_of(source.program, *own);
      if (number >= calls.size()) {
        throw et_schema::bad_input(
            kNoOtherWorld, {.rank = static_cast<int>(source.rank),
                            .field = fmt::format("group '{}'", bench_.groups[recorded].name),
                            .expected = "as many exchanges as its other ranks",
                            .got = fmt::format("{}", calls.size())});
      }
      const Instruction& call = *calls[number];
      const std::int64_t rows = rows_of(program, call, 0);
      const std::int64_t received = rows_of(program, call, 1);
      std::vector<std::int64_t> sent = splits_of(call.comm->in_splits, rows, recorded_ranks.size());
      if (std::accumulate(sent.begin(), sent.end(), std::int64_t{0}) != rows) {
        refuse_call(call, source, fmt::format("splits that add up to {} rows", rows),
                    fmt::format("{}", fmt::join(sent, ", ")), "");
      }
      ranks.push_back({position, std::move(sent), received});
    }
    return found->second = dealt_exchange(ranks);
  }

  void exchange(std::int64_t rank, GroupId group, GroupId recorded, std::size_t number,
                Instruction& call, Program& program) {
    const auto size = static_cast<std::int64_t>(
        after_.ranks_along(before_.along(recorded), after_.place_of(rank)).size());
    const Source& source = sources_[static_cast<std::size_t>(rank)];
    const bool is_even = sizes_of(call) == CommSizes::kEqualParts &&
                         rows_of(program, call, 0) % size == 0 &&
                         rows_of(program, call, 1) % size == 0;
    if (is_even) {
      return;
    }
    const std::vector<std::vector<std::int64_t>>& matrix = dealt(rank, group, recorded, number);
    const std::vector<std::int64_t> ranks =
        after_.ranks_along(before_.along(recorded), after_.place_of(rank));
    const auto self = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
    CommInfo& comm = *call.comm;
    comm.kind = et_schema::CommKind::kAllToAllV;
    comm.in_splits = matrix[self];
    comm.out_splits.clear();
    for (const auto& row : matrix) {
      comm.out_splits.push_back(row[self]);
    }
    const std::int64_t received =
        std::accumulate(comm.out_splits.begin(), comm.out_splits.end(), std::int64_t{0});
    if (received != rows_of(program, call, 1)) {
      receive(received, call, source, program);
    }
  }

  /// Gives the call an output of so many rows, where nothing but its allocation meets it.
  void receive(std::int64_t rows, const Instruction& call, const Source& source, Program& program) {
    const SlotId output = et_schema::slots_in({call.args[1]}).front();
    const et_schema::StorageId storage = program.slots[output].storage;
    const Program& recorded = bench_.programs[source.program];
    Instruction* allocation = nullptr;
    for (Instruction& instruction : program.instructions) {
      bool meets = false;
      for (const auto* side : {&instruction.args, &instruction.results}) {
        et_schema::for_each_slot(
            *side, [&](SlotId slot) { meets = meets || program.slots[slot].storage == storage; });
      }
      if (!meets || &instruction == &call) {
        continue;
      }
      if (!et_schema::allocates_memory(instruction.name) || !instruction.schema) {
        throw WorldDoesNotFit{
            {.rank = static_cast<int>(source.rank),
             .node = call.node_id,
             .field = fmt::format("{} in group '{}'", et_schema::to_string(call.comm->kind),
                                  bench_.groups[call.comm->group].name),
             .expected = "ranks that receive together what they send together",
             .got = fmt::format("{} rows in place of {}, which {} takes", rows,
                                rows_of(recorded, call, 1), instruction.name)}};
      }
      allocation = &instruction;
    }
    program.slots[output].sizes[0] = rows;
    fit_storages(recorded, program, static_cast<int>(source.rank), "--world-size");
    if (allocation != nullptr) {
      scale_arguments(recorded, program, *allocation);
      allocation->body.clear();
      world_.has_other_shapes = true;
    }
  }

  // What the user is told.

  struct Rule {
    std::uint64_t calls = 0;
    std::int64_t sent[2] = {0, 0};
    std::int64_t received[2] = {0, 0};
    bool is_noted = false;
  };

  /// Of the first rank that has each group.
  void note_rules(const Program& recorded, const Program& program) {
    std::vector<const Instruction*> before;
    std::vector<const Instruction*> after;
    each_communication(recorded.instructions,
                       [&](const Instruction& call) { before.push_back(&call); });
    each_communication(program.instructions,
                       [&](const Instruction& call) { after.push_back(&call); });
    std::set<GroupId> now;
    for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
      const GroupId group = before[i]->comm->group;
      Rule& rule = rules_[group];
      if (sizes_of(*before[i]) == CommSizes::kNoCommunication ||
          (rule.is_noted && !now.contains(group))) {
        continue;
      }
      rule.is_noted = true;
      now.insert(group);
      ++rule.calls;
      rule.sent[0] += bytes_of(recorded, *before[i], 0);
      rule.sent[1] += bytes_of(program, *after[i], 0);
      rule.received[0] += bytes_of(recorded, *before[i], 1);
      rule.received[1] += bytes_of(program, *after[i], 1);
    }
  }

  [[nodiscard]] std::string rule_text(GroupId group) const {
    if (!grows(group)) {
      return "keeps its ranks, and its calls their sizes";
    }
    switch (kinds_[group]->kind) {
      case GroupKind::kSharded:
        return "what is gathered and scattered keeps its size, a rank's part is a smaller or "
               "larger one; sums keep their size";
      case GroupKind::kExpert:
        return "each rank sends as many rows as it did, to all ranks; sums keep their size";
      case GroupKind::kData:
      case GroupKind::kTensor:
      case GroupKind::kPipeline:
        break;
    }
    return "sums and broadcasts keep their size";
  }

  void finish_rules() {
    for (GroupId group = 0; group < kinds_.size(); ++group) {
      const Rule& rule = rules_[group];
      if (!kinds_[group] || !rule.is_noted) {
        continue;
      }
      const auto before = static_cast<std::int64_t>(before_.ranks_of(group).size());
      const std::int64_t after =
          grows(group) ? before / before_.axes()[axis_].size * after_.axes()[axis_].size : before;
      world_.scaled.groups.push_back({.name = bench_.groups[group].name,
                                      .description = bench_.groups[group].description,
                                      .kind = std::string(to_string(kinds_[group]->kind)),
                                      .why = kinds_[group]->why,
                                      .rule = rule_text(group),
                                      .ranks_before = before,
                                      .ranks_after = after,
                                      .calls = rule.calls,
                                      .sent_bytes_before = rule.sent[0],
                                      .sent_bytes_after = rule.sent[1],
                                      .received_bytes_before = rule.received[0],
                                      .received_bytes_after = rule.received[1]});
    }
  }

  const Bench& bench_;
  Kinds kinds_;
  Mesh before_;
  std::size_t axis_;
  int ranks_per_program_;
  Mesh after_;
  ScaledWorld world_;
  std::vector<Source> sources_;
  std::set<std::string> names_;
  std::map<std::pair<std::vector<std::int64_t>, std::size_t>, GroupId> made_;
  std::map<std::tuple<std::size_t, std::int64_t, std::map<GroupId, GroupId>, std::int64_t>,
           std::uint32_t>
      programs_;
  std::map<std::size_t, std::set<GroupId>> shard_groups_;
  std::vector<std::unique_ptr<Shards>> shards_;
  std::map<std::pair<GroupId, std::size_t>, std::vector<std::vector<std::int64_t>>> dealt_;
  std::vector<Rule> rules_;  ///< by recorded group
};

/// Those of `sizes` that work, as tried.
std::string those_that_work(const Bench& bench, WorldSize size, const std::vector<int>& sizes) {
  std::vector<int> work;
  for (const int ranks : sizes) {
    size.ranks = ranks;
    try {
      static_cast<void>(Scaling(bench, size).scaled());
      work.push_back(ranks);
    } catch (const WorldDoesNotFit&) {
    } catch (const et_schema::Error&) {
    }
  }
  return work.empty() ? "capture the job on that number of ranks"
                      : fmt::format("sizes that work: {}", fmt::join(work, ", "));
}

}  // namespace

ScaledWorld with_world_size(const Bench& bench, const WorldSize& size) {
  Scaling scaling(bench, size);
  try {
    return scaling.scaled();
  } catch (const WorldDoesNotFit& error) {
    et_schema::ErrorContext context = error.context;
    context.hint = those_that_work(bench, size, scaling.others());
    throw et_schema::bad_input(kNoOtherWorld, std::move(context));
  }
}

Bench bench_of(const Bench& recorded, ScaledWorld world, const WorldSize& size) {
  Bench bench;
  bench.tool_version = recorded.tool_version;
  bench.op_maps = recorded.op_maps;
  bench.groups = world.groups;
  bench.scaled = std::move(world.scaled);
  for (std::size_t rank = 0; rank < world.program_of.size(); ++rank) {
    Program program = world.programs[world.program_of[rank]];
    const std::size_t source = world.source_of[rank];
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
    program.selection.filters.push_back(fmt::format("--world-size {}", world.program_of.size()));
    for (const auto& [name, kind] : size.kinds) {
      program.selection.filters.push_back(fmt::format("--group {}={}", name, to_string(kind)));
    }
    bench.programs.push_back(std::move(program));
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
