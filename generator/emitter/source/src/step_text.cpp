#include "step_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include "bodies.h"
#include "call_text.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/lifetimes.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/touches.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;

/// Smaller tensors go at the step's end.
constexpr std::int64_t kLeastFreedBytes = std::int64_t{64} << 10;

std::string variable(SlotId slot) {
  return fmt::format("t{}", slot);
}

class StepWriter {
 public:
  StepWriter(const Program& program, std::vector<std::string> failing)
      : program_(program),
        refused_(std::move(failing)),
        devices_{uses_accelerator(program)},
        calls_(program, devices_),
        open_(program),
        made_(program.slots.size()),
        given_(program.slots.size()),
        alive_(program.storages.size()) {
    find_deaths();
  }

  StepText write() {
    for (std::size_t at = 0; at < refused_.size(); ++at) {
      free(freed_before_[at]);
      join(open_.take_touched(touched_by(program_, program_.instructions[at])));
      write_or_refuse(at);
      for (const SlotId slot : et_schema::slots_in(program_.instructions[at].results)) {
        given_[slot] = given_[slot] || program_.instructions[at].pinned;
      }
      free_storages(at);
    }
    join(open_.take_all());
    return {body(), refused_};
  }

 private:
  void add(const std::string& statement) { lines_.push_back(statement); }

  void find_deaths() {
    const et_schema::Lifetimes lifetimes =
        et_schema::lifetimes_of(program_, et_schema::uses_of(program_));
    kept_.insert(lifetimes.outlive.begin(), lifetimes.outlive.end());
    std::map<StorageId, std::size_t> deaths;
    for (std::size_t at = 0; at < lifetimes.deaths.size(); ++at) {
      const et_schema::StepDeaths& dying = lifetimes.deaths[at];
      for (const auto* slots : {&dying.unread, &dying.last_reads, &dying.let_go}) {
        for (const SlotId slot : *slots) {
          deaths[program_.slots[slot].storage] = at;
        }
      }
      std::ranges::copy_if(dying.let_go, std::back_inserter(freed_before_[at]),
                           [this](SlotId slot) { return kept_.contains(slot); });
    }
    for (const SlotId slot : kept_) {
      deaths.erase(program_.slots[slot].storage);
    }
    for (const auto& [storage, at] : deaths) {
      const et_schema::Storage& memory = program_.storages[storage];
      if (!memory.external && memory.bytes >= kLeastFreedBytes && at + 1 < refused_.size()) {
        freed_behind_[at].push_back(storage);
      }
    }
  }

  void join(const std::vector<std::uint32_t>& works) {
    for (const std::uint32_t work : works) {
      add(fmt::format("work{}.wait()", work));
    }
  }

  void free(const std::vector<SlotId>& slots) {
    std::vector<std::string> variables;
    std::ranges::transform(slots, std::back_inserter(variables), variable);
    if (!variables.empty()) {
      add(fmt::format("{} = None", fmt::join(variables, " = ")));
    }
  }

  /// Frees storages behind their last reader: all tensors on them that the step made so far.
  void free_storages(std::size_t at) {
    std::vector<SlotId> slots;
    for (const StorageId storage : freed_behind_[at]) {
      const std::vector<SlotId> alive = std::exchange(alive_[storage], {});
      slots.insert(slots.end(), alive.begin(), alive.end());
    }
    free(slots);
  }

  /// Returns the variable that holds a slot's tensor now: made by the step, or before it.
  std::string tensor(SlotId slot) {
    if (made_[slot]) {
      return variable(slot);
    }
    if (!can_be_made(program_.slots[slot])) {
      throw CannotShow{
          program_.slots[slot].external
              ? "a tensor from before the step that is sparse, quantised or of an unknown type"
              : "it reads what another operator that is missing would have made"};
    }
    read_before_.insert(slot);
    return variable_before(program_, slot);
  }

  void write_or_refuse(std::size_t at) {
    const Instruction& instruction = program_.instructions[at];
    try {
      if (!refused_[at].empty()) {
        throw CannotShow{refused_[at]};
      }
      write(instruction);
    } catch (const CannotShow& cannot) {
      refused_[at] = cannot.reason;
      add(fmt::format("# {} is left out: {}", commented(instruction.name),
                      commented(cannot.reason)));
    }
  }

  void write(const Instruction& instruction) {
    switch (instruction.kind) {
      case InstructionKind::kOp:
        return means_nothing(instruction.name) ? pass_on(instruction) : write_call(instruction);
      case InstructionKind::kAlias:
        return write_alias(instruction);
      case InstructionKind::kCollective:
      case InstructionKind::kP2p:
        return write_communication(instruction);
      case InstructionKind::kWait:
        return join(open_.take_waited(instruction));
      case InstructionKind::kMarker:
        return add(fmt::format("# {}", commented(instruction.name)));
      case InstructionKind::kKernel:
        throw CannotShow{std::string(et_schema::kNoKernelCode)};
      case InstructionKind::kNative:
        throw CannotShow{"a label that did work and shows no operator"};
    }
  }

  void write_call(const Instruction& instruction) {
    Variables variables = [this](SlotId slot) { return tensor(slot); };
    if (et_schema::lays_out_in_place(et_schema::without_overload(instruction.name))) {
      // Later readers of the tensor need its former layout.
      variables = [this, is_first = true](SlotId slot) mutable {
        const std::string name = tensor(slot);
        return std::exchange(is_first, false) ? bench_text("another", {name}) : name;
      };
    }
    const CallText call = calls_.write(instruction, variables);
    std::vector<Argument> results = instruction.results;
    results.resize(call.returns.size());
    std::vector<std::string> targets;
    std::ranges::transform(results, std::back_inserter(targets),
                           [&](const Argument& result) { return target(instruction, result); });
    assign(instruction, fmt::format("{}", fmt::join(targets, ", ")), call.expression);
  }

  /// Returns true if an instruction makes a slot's tensor, which the step then reads.
  [[nodiscard]] bool makes(const Instruction& instruction, SlotId slot) const {
    const std::vector<SlotId> reads = et_schema::slots_in(instruction.args);
    return !instruction.pinned && !program_.slots[slot].external &&
           std::ranges::find(reads, slot) == reads.end();
  }

  /// Returns what a result is assigned to: "t5", "[t5, t6]", or "_".
  [[nodiscard]] std::string target(const Instruction& instruction, const Argument& result) const {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&result.value)) {
      return makes(instruction, slot->id) ? variable(slot->id) : "_";
    }
    const auto* list = std::get_if<Argument::List>(&result.value);
    std::vector<std::string> targets;
    for (const Argument& item : list != nullptr ? *list : Argument::List()) {
      targets.push_back(target(instruction, item));
    }
    const bool is_new = std::ranges::any_of(targets, [](const auto& text) { return text != "_"; });
    return is_new ? list_text(targets) : "_";
  }

  /// Assigns an expression to the tensors that an instruction makes.
  void assign(const Instruction& instruction, const std::string& targets,
              const std::string& expression) {
    std::vector<SlotId> made = et_schema::slots_in(instruction.results);
    std::erase_if(made, [&](SlotId slot) { return !makes(instruction, slot); });
    add(made.empty() ? expression : fmt::format("{} = {}", targets, expression));
    std::ranges::for_each(made, [this](SlotId slot) { set_made(slot); });
  }

  void set_made(SlotId slot) {
    made_[slot] = true;
    std::vector<SlotId>& alive = alive_[program_.slots[slot].storage];
    if (!kept_.contains(slot) && std::ranges::find(alive, slot) == alive.end()) {
      alive.push_back(slot);
    }
  }

  void write_alias(const Instruction& instruction) {
    const std::vector<SlotId> from = et_schema::slots_in(instruction.args);
    const std::vector<SlotId> to = et_schema::slots_in(instruction.results);
    if (from.empty() || to.empty() || !makes(instruction, to.front())) {
      return;
    }
    const Slot& base = program_.slots[from.front()];
    const Slot& layout = program_.slots[to.front()];
    const std::int64_t shift_bytes =
        layout.offset * item_size(layout.dtype) - base.offset * item_size(base.dtype);
    assign(instruction, variable(to.front()),
           bench_text("relayout",
                      {tensor(from.front()), dtype_text(layout.dtype), sizes_text(layout.sizes),
                       sizes_text(layout.strides), fmt::format("{}", shift_bytes)}));
  }

  /// Assigns the instruction's input to its result.
  void pass_on(const Instruction& instruction) {
    const std::vector<SlotId> from = et_schema::slots_in(instruction.args);
    const std::vector<SlotId> to = et_schema::slots_in(instruction.results);
    add(fmt::format("# {} means nothing here", commented(instruction.name)));
    if (from.size() == 1 && to.size() == 1 && makes(instruction, to.front())) {
      assign(instruction, variable(to.front()), tensor(from.front()));
    }
  }

  void write_communication(const Instruction& instruction) {
    const std::vector<SlotId> sent = et_schema::slots_of(instruction, 0);
    for (const SlotId slot : et_schema::slots_of(instruction, 1)) {
      if (!made_[slot] && !program_.slots[slot].external && !given_[slot] &&
          std::ranges::find(sent, slot) == sent.end()) {
        make_output(slot);
      }
    }
    const std::string call = communicate_text(instruction);
    if (et_schema::is_blocking(*instruction.comm)) {
      return add(call + ".wait()");
    }
    add(fmt::format("work{} = {}", works_, call));
    open_.start(works_++, instruction);
  }

  /// Makes a tensor for a communication to fill.
  void make_output(SlotId slot) {
    const Slot& layout = program_.slots[slot];
    add(fmt::format("{} = torch.empty_strided({}, {}, dtype={}, device=device)", variable(slot),
                    sizes_text(layout.sizes), sizes_text(layout.strides),
                    dtype_text(layout.dtype)));
    set_made(slot);
  }

  std::string communicate_text(const Instruction& instruction) {
    const et_schema::CommInfo& info = *instruction.comm;
    const et_schema::CommTraits& traits = et_schema::traits(info.kind);
    if (traits.type_name.empty()) {
      throw CannotShow{"a communication that sends nothing"};
    }
    std::vector<std::string> arguments = {text_literal(traits.type_name),
                                          fmt::format("{}", info.group)};
    const auto add = [&](bool is_told, const char* name, const std::string& text) {
      if (is_told) {
        arguments.push_back(fmt::format("{}={}", name, text));
      }
    };
    for (const std::size_t at : {0U, 1U}) {
      std::vector<std::string> tensors;
      for (const SlotId slot : et_schema::slots_of(instruction, at)) {
        tensors.push_back(tensor(slot));
      }
      add(!tensors.empty(), at == 0 ? "inputs" : "outputs", list_text(tensors));
    }
    add(info.root_or_peer != 0, "root_or_peer", fmt::format("{}", info.root_or_peer));
    add(!info.in_splits.empty(), "in_splits", sizes_text(info.in_splits));
    add(!info.out_splits.empty(), "out_splits", sizes_text(info.out_splits));
    add(info.reduce_op != "sum", "reduce", text_literal(info.reduce_op));
    return bench_text("communicate", arguments);
  }

  [[nodiscard]] std::string body() const {
    std::string text = fmt::format(
        "device = bench.device()\n{}\n# What is there before the step.\n{}\n",
        calls_.declarations(), fmt::join(tensors_text(program_, read_before_, devices_), "\n"));
    std::vector<std::string> kept;
    std::ranges::transform(kept_, std::back_inserter(kept), variable);
    std::string step = "\n\ndef step():\n    \"\"\"Runs the step once.\"\"\"\n";
    if (!kept.empty()) {
      text += fmt::format("\n# What outlives its step.\n{} = None\n", fmt::join(kept, " = "));
      step += fmt::format("    global {}\n", fmt::join(kept, ", "));
    }
    for (const std::string& line : lines_) {
      step += fmt::format("    {}\n", line);
    }
    return text + step;
  }

  const Program& program_;
  std::vector<std::string> refused_;
  DeviceText devices_;
  CallWriter calls_;
  et_schema::OpenComms open_;
  std::vector<bool> made_;                  ///< by slot: the step has made its tensor
  std::vector<bool> given_;                 ///< by slot: its values are those of a pinned result
  std::vector<std::vector<SlotId>> alive_;  ///< by storage: slots that keep it alive
  std::set<SlotId> kept_;                   ///< slots that outlive their step
  std::set<SlotId> read_before_;            ///< slots whose tensors are made before the step
  std::map<std::size_t, std::vector<SlotId>> freed_before_;     ///< kept ones, by instruction
  std::map<std::size_t, std::vector<StorageId>> freed_behind_;  ///< by instruction
  std::uint32_t works_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::string variable_before(const Program& program, SlotId slot) {
  return fmt::format("{}{}", program.slots[slot].external ? "t" : "given", slot);
}

StepText write_step(const Program& program, std::vector<std::string> failing) {
  return StepWriter(program, std::move(failing)).write();
}

}  // namespace understudy::emitter
