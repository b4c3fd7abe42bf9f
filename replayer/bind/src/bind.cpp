#include "replayer/bind/bind.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "bind_comms.h"
#include "et_schema/base/assert.h"
#include "et_schema/model/open_comms.h"
#include "liveness.h"
#include "operator_plan.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/dispatch/layout.h"
#include "step_list.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::SlotUse;

template <typename T>
std::uint32_t last_index(const std::vector<T>& items) {
  return static_cast<std::uint32_t>(items.size() - 1);
}

/// Binds instructions in order; see bind_program().
class Binder {
 public:
  Binder(Decisions& decisions, const BindScope& scope, const std::vector<BoundGroup>& groups,
         const et_schema::CommOrder& order)
      : decisions_(decisions),
        program_(decisions.program()),
        groups_(groups),
        order_(order),
        open_(program_),
        steps_(program_, scope.available, bound_) {}

  BoundProgram bind_all(const BindScope& scope) {
    const bool is_whole = scope.instructions.data() == program_.instructions.data() &&
                          scope.instructions.size() == program_.instructions.size();
    for (const Instruction& instruction : scope.instructions) {
      if (is_whole) {
        begins_.push_back(bound_.steps.size());
      }
      whole_ = &instruction;
      add(instruction);
    }
    steps_.add_joins(open_.take_all(), JoinedBy::kEnd);
    sort_turns();
    if (is_whole) {
      find_states();
    }
    apply_liveness(program_, steps_.uses(), {std::move(begins_), scope.needed}, bound_);
    bound_.externals.assign(steps_.externals().begin(), steps_.externals().end());
    bound_.given.assign(steps_.given().begin(), steps_.given().end());
    bound_.written.assign(written_.begin(), written_.end());
    return std::move(bound_);
  }

 private:
  /// Finds optimizer states made in the first step, and the step that reads the first of them.
  void find_states() {
    for (const SlotId slot : steps_.externals()) {
      if (program_.storages[program_.slots[slot].storage].state) {
        bound_.states.push_back(slot);
      }
    }
    const auto reads_state = [&](const SlotUse& use) {
      return std::any_of(use.reads.begin(), use.reads.end(), [&](SlotId slot) {
        return program_.storages[program_.slots[slot].storage].state;
      });
    };
    const std::vector<SlotUse>& uses = steps_.uses();
    const auto first = std::find_if(uses.begin(), uses.end(), reads_state);
    bound_.states_at = static_cast<std::size_t>(first - uses.begin());
  }

  void add(const Instruction& instruction) {
    switch (decisions_.of(instruction).how) {
      case How::kBody:
        std::ranges::for_each(instruction.body, [&](const Instruction& inner) { add(inner); });
        return;
      case How::kDropped:
        add_premade(instruction);
        return;
      case How::kNotApplicable:
        add_passed_on(instruction);
        return;
      case How::kUncounted:
        if (instruction.kind == InstructionKind::kAlias) {
          add_alias(instruction);
        }
        return;
      case How::kDirect:
      case How::kSubstitute:
        break;
    }
    if (instruction.comm) {
      add_communication(instruction);
    } else {
      add_operator(instruction);
    }
  }

  void add_operator(const Instruction& instruction) {
    try {
      const std::shared_ptr<const Substitute> substitute = decisions_.of(instruction).substitute;
      const bool direct = substitute == nullptr;
      OperatorPlan plan =
          direct ? planner_.plan_call(instruction) : planner_.plan_substitute(instruction);
      Step step;
      step.source = &instruction;
      step.whole = whole_;
      step.kind = direct ? StepKind::kCall : StepKind::kSubstitute;
      step.handle = plan.handle;
      if (substitute != nullptr) {
        step.index = static_cast<std::uint32_t>(bound_.substitutes.size());
        bound_.substitutes.push_back(*substitute);
      }
      for (const SlotId slot : plan.written) {
        if (program_.storages[program_.slots[slot].storage].external) {
          written_.insert(slot);
        }
      }
      add_stack_step(std::move(step), std::move(plan.arguments));
    } catch (const BoxFailure& failure) {
      if (!decisions_.step_down(instruction)) {
        decisions_.drop(instruction, failure.reason);
      }
      add(instruction);
    }
  }

  void add_stack_step(Step step, std::vector<PlannedArgument> plan) {
    const Instruction& instruction = *step.source;
    SlotUse use;
    use.reads = slots_in(instruction.args);
    // A native instruction's arguments include its forward's arguments; all of them are read.
    before_touching(touched_by(program_, instruction), use.reads);
    step.entries.begin = static_cast<std::uint32_t>(bound_.entries.size());
    for (PlannedArgument& argument : plan) {
      bound_.entries.push_back(stack_entry(std::move(argument)));
    }
    step.entries.end = static_cast<std::uint32_t>(bound_.entries.size());
    step.stored.begin = static_cast<std::uint32_t>(bound_.stored.size());
    std::vector<SlotId> pinned;
    for (std::size_t i = 0; i < instruction.results.size(); ++i) {
      add_result(instruction, i, use, pinned);
    }
    step.stored.end = static_cast<std::uint32_t>(bound_.stored.size());
    steps_.add(std::move(step), std::move(use));
    for (const SlotId slot : pinned) {
      steps_.add_give(&instruction, slot);
    }
  }

  StackEntry stack_entry(PlannedArgument argument) {
    if (auto* constant = std::get_if<c10::IValue>(&argument)) {
      bound_.constants.push_back(std::move(*constant));
      return {StackEntry::From::kConstant, last_index(bound_.constants)};
    }
    if (const auto* slot = std::get_if<SlotId>(&argument)) {
      return {StackEntry::From::kSlot, *slot};
    }
    bound_.lists.push_back(std::move(std::get<SlotList>(argument)));
    return {StackEntry::From::kList, last_index(bound_.lists)};
  }

  void add_result(const Instruction& instruction, std::size_t position, SlotUse& use,
                  std::vector<SlotId>& pinned) {
    const auto place = [&](const Argument& result, std::optional<std::uint32_t> element) {
      const auto* slot = std::get_if<Argument::SlotRef>(&result.value);
      if (slot == nullptr || is_in_place(slot->id, use)) {
        return;
      }
      if (decisions_.is_pinned(instruction)) {
        use.unkept.push_back(slot->id);
        pinned.push_back(slot->id);
        return;
      }
      use.makes.push_back(slot->id);
      bound_.stored.push_back({static_cast<std::uint32_t>(position), element, slot->id});
    };
    const Argument& result = instruction.results[position];
    if (const auto* list = std::get_if<Argument::List>(&result.value)) {
      for (std::uint32_t i = 0; i < list->size(); ++i) {
        place((*list)[i], i);
      }
    } else {
      place(result, std::nullopt);
    }
  }

  /// Returns true if a result needs no store: it is an argument, or has an external's layout on the
  /// external's storage.
  [[nodiscard]] bool is_in_place(SlotId slot, const SlotUse& use) const {
    return program_.slots[slot].external ||
           std::find(use.reads.begin(), use.reads.end(), slot) != use.reads.end();
  }

  /// Joins communications that must be complete, and makes slots that no step has made.
  void before_touching(const et_schema::Touched& touched, const std::vector<SlotId>& slots) {
    steps_.add_joins(open_.take_touched(touched), JoinedBy::kDataFlow);
    steps_.add_missing(slots);
  }

  void add_alias(const Instruction& instruction) {
    const std::vector<SlotId> from = slots_in(instruction.args);
    const std::vector<SlotId> to = slots_in(instruction.results);
    if (from.empty() || to.empty() || program_.slots[to.front()].external) {
      return;
    }
    if (!steps_.has_memory(from.front()) || !steps_.has_memory(to.front())) {
      steps_.add_give(&instruction, to.front());
      return;
    }
    before_touching(touched_by(program_, instruction), from);
    if (from.front() != to.front()) {
      steps_.add_alias(&instruction, from.front(), to.front());
    }
  }

  void add_premade(const Instruction& instruction) {
    SlotUse use;
    use.reads = slots_in(instruction.args);
    for (const SlotId slot : slots_in(instruction.results)) {
      if (!is_in_place(slot, use)) {
        steps_.add_give(&instruction, slot);
      }
    }
  }

  /// Adds an instruction without meaning on this target: an alias if its only result has the layout
  /// of its only tensor argument.
  void add_passed_on(const Instruction& instruction) {
    const std::vector<SlotId> from = slots_in(instruction.args);
    const std::vector<SlotId> to = slots_in(instruction.results);
    if (from.size() == 1 && to.size() == 1 && from != to) {
      const Slot& source = program_.slots[from.front()];
      const Slot& result = program_.slots[to.front()];
      if (source.sizes == result.sizes && source.dtype == result.dtype &&
          source.strides == result.strides && !result.external) {
        before_touching(touched_by(program_, instruction), from);
        steps_.add_alias(&instruction, from.front(), to.front());
        return;
      }
    }
    add_premade(instruction);
  }

  void add_communication(const Instruction& instruction) {
    if (instruction.kind == InstructionKind::kWait) {
      steps_.add_joins(open_.take_waited(instruction), JoinedBy::kWait, instruction.timing);
      return;
    }
    BoundComm comm = bind_comm(program_, instruction, groups_);
    if (const std::optional<std::size_t> number = number_of(instruction)) {
      if (!order_.turns.empty()) {
        comm.turn = order_.turns[*number];
        comm.kept_apart = order_.kept_apart[*number];
        comm.blocking = comm.blocking && !comm.kept_apart;
      }
      if (!decisions_.options().comm_times_ns.empty()) {
        comm.call.lasts = std::chrono::nanoseconds(decisions_.options().comm_times_ns[*number]);
      }
    }
    SlotUse use;
    use.reads = comm.inputs;
    before_touching(touched_by(program_, instruction), comm.inputs);
    for (const SlotId slot : comm.outputs) {
      const bool is_available = steps_.is_available(slot);
      (is_available ? use.reads : use.makes).push_back(slot);
      if (!is_available) {
        const et_schema::Storage& recorded = program_.storages[program_.slots[slot].storage];
        comm.fresh.push_back({slot, map_device(recorded.device, decisions_.options().device)});
      }
    }
    Step step;
    step.kind = StepKind::kStart;
    step.index = static_cast<std::uint32_t>(bound_.comms.size());
    step.source = &instruction;
    step.whole = whole_;
    bound_.comms.push_back(std::move(comm));
    steps_.add(std::move(step), std::move(use));
    if (bound_.comms.back().kept_apart) {
      open_.start_detached(last_index(bound_.comms));
    } else if (!bound_.comms.back().blocking) {
      open_.start(last_index(bound_.comms), instruction);
    }
  }

  /// Returns the index among the program's communications; nothing without an order.
  [[nodiscard]] std::optional<std::size_t> number_of(const Instruction& instruction) {
    const std::size_t count =
        std::max(order_.turns.size(), decisions_.options().comm_times_ns.size());
    if (count == 0) {
      return std::nullopt;
    }
    if (numbers_.empty()) {
      for (const Instruction& each : program_.instructions) {
        if (is_communication(each)) {
          numbers_.emplace(&each, numbers_.size());
        }
      }
      UNDERSTUDY_ASSERT(numbers_.size() == count);
    }
    const auto found = numbers_.find(&instruction);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  void sort_turns() {
    for (std::uint32_t i = 0; i < bound_.comms.size(); ++i) {
      if (bound_.comms[i].turn) {
        bound_.turns.push_back(i);
      }
    }
    std::sort(bound_.turns.begin(), bound_.turns.end(), [&](std::uint32_t a, std::uint32_t b) {
      return *bound_.comms[a].turn < *bound_.comms[b].turn;
    });
  }

  Decisions& decisions_;
  const Program& program_;
  const std::vector<BoundGroup>& groups_;
  const et_schema::CommOrder& order_;
  std::unordered_map<const Instruction*, std::size_t> numbers_;  ///< index of each communication
  et_schema::OpenComms open_;
  BoundProgram bound_;
  StepList steps_;
  OperatorPlanner planner_{decisions_, bound_.losses};
  std::vector<std::size_t> begins_;  ///< by instruction of the whole program: index of its first
                                     ///< step
  std::set<SlotId> written_;
  const Instruction* whole_ = nullptr;  ///< that is being added
};

}  // namespace

BoundProgram bind_program(Decisions& decisions, const BindScope& scope,
                          const std::vector<BoundGroup>& groups,
                          const et_schema::CommOrder& order) {
  return Binder(decisions, scope, groups, order).bind_all(scope);
}

BoundProgram bind_program(Decisions& decisions, const std::vector<BoundGroup>& groups,
                          const et_schema::CommOrder& order) {
  return bind_program(decisions, {decisions.program().instructions, {}, {}}, groups, order);
}

}  // namespace understudy::replayer
