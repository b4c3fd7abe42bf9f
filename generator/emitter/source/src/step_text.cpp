#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "call_text.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/program.h"
#include "foreign_text.h"
#include "showing.h"
#include "source_text.h"
#include "statement_text.h"
#include "step_parts.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

std::vector<bool> replaced_by(const Program& program, const std::vector<std::string>& refused) {
  std::vector<bool> replaced(refused.size());
  for (std::size_t at = 0; at < refused.size(); ++at) {
    replaced[at] = !refused[at].empty() || means_nothing(program.instructions[at].name);
  }
  return replaced;
}

class StepWriter {
 public:
  StepWriter(const Program& program, std::vector<std::string> failing)
      : program_(program),
        showing_(find_showing(program, std::move(failing))),
        flow_(program, replaced_by(program, showing_.refused)),
        phases_(find_phases(program)),
        words_(slot_words(flow_, phases_)),
        devices_{uses_accelerator(program)},
        calls_(program, devices_, used_),
        open_(program),
        homes_(program.slots.size()),
        alive_(program.storages.size()),
        lists_(count_lists(program)) {}

  StepText write() {
    find_kept();
    tensors_ = write_tensors(flow_, words_, kept_, devices_);
    for (const auto& [slot, member] : tensors_.members) {
      if (!kept_.contains(slot)) {
        homes_[slot] = "t." + member;
      }
    }
    vectors_ = tensors_.vectors;
    write_instructions();
    return {source(), showing_.refused};
  }

 private:
  void add(const std::string& statement) { lines_.push_back(statement); }

  /// Finds slots that keep their storage into the next step.
  void find_kept() {
    for (SlotId slot = 0; slot < program_.slots.size(); ++slot) {
      if (flow_.is_holder(slot) && flow_.late_death_of(program_.slots[slot].storage)) {
        kept_.insert(slot);
      }
    }
    for (StorageId storage = 0; storage < program_.storages.size(); ++storage) {
      if (const auto death = flow_.late_death_of(storage)) {
        late_[*death].push_back(storage);
      } else if (const auto at = flow_.death_of(storage)) {
        dying_[*at].push_back(storage);
      }
    }
  }

  void write_instructions() {
    std::string_view phase;
    for (std::size_t at = 0; at < program_.instructions.size(); ++at) {
      if (phase_name(phases_, at) != phase) {
        phase = phase_name(phases_, at);
        if (!lines_.empty()) {
          lines_.emplace_back();
        }
        add(fmt::format("# {}", phase));
      }
      free_late(at);
      join(open_.take_touched(touched_by(program_, program_.instructions[at])));
      write_instruction(at);
    }
    join(open_.take_all());
  }

  void join(const std::vector<std::uint32_t>& works) {
    for (const std::uint32_t work : works) {
      add(fmt::format("{}.wait()", work_names_[work]));
    }
  }

  /// Releases the tensors of the previous step whose memory is freed behind this instruction.
  void free_late(std::size_t at) {
    const auto late = late_.find(at);
    if (late == late_.end()) {
      return;
    }
    std::vector<std::string> gone;
    for (const StorageId storage : late->second) {
      for (const SlotId slot : kept_) {
        if (program_.slots[slot].storage == storage) {
          gone.push_back("t." + tensors_.members.at(slot));
        }
      }
    }
    free(gone);
  }

  void free(const std::vector<std::string>& variables) {
    if (!variables.empty()) {
      add(release_text(variables, vectors_));
    }
  }

  /// Assigns a new variable to a slot's tensor.
  void set_home(SlotId slot, const std::string& name) {
    homes_[slot] = name;
    const StorageId storage = program_.slots[slot].storage;
    if (kept_.contains(slot)) {
      const std::string member = "t." + tensors_.members.at(slot);
      add(fmt::format("{} = {}", member, name));
      homes_[slot] = member;
      return;
    }
    if (!program_.storages[storage].external) {
      alive_[storage].push_back(name);
    }
  }

  /// Removes and returns variables of storages that are freed behind an instruction.
  std::vector<std::string> take_dead(std::size_t at) {
    std::vector<std::string> dead;
    const auto dying = dying_.find(at);
    if (dying == dying_.end() || at + 1 == showing_.refused.size()) {
      return dead;
    }
    for (const StorageId storage : dying->second) {
      if (is_worth_freeing(program_.storages[storage])) {
        dead.insert(dead.end(), alive_[storage].begin(), alive_[storage].end());
        alive_[storage].clear();
      }
    }
    return dead;
  }

  void write_instruction(std::size_t at) {
    const Instruction& instruction = program_.instructions[at];
    if (instruction.comm) {
      write_communication(at);
    } else if (!showing_.refused[at].empty()) {
      add(fmt::format("# {} is left out: {}", commented(instruction.name),
                      commented(showing_.refused[at])));
    } else if (means_nothing(instruction.name)) {
      pass_on(at);
    } else {
      write_operator(at);
    }
    free(take_dead(at));
  }

  /// Writes a vector for a list that several operators read, before the first of them.
  void gather(const et_schema::Argument& argument) {
    const std::vector<SlotId> slots = long_list(argument);
    std::vector<std::string> from;
    for (const SlotId slot : slots) {
      from.push_back(homes_[slot]);
      if (homes_[slot].empty() || homes_[slot].starts_with("t.")) {
        return;  // not a variable of this step
      }
    }
    const std::string all = fmt::format("{}", fmt::join(from, ", "));
    const std::set<std::string> distinct(from.begin(), from.end());
    if (slots.empty() || lists_.at(slots) < 2 || vectors_.contains(all) ||
        distinct.size() != from.size()) {
      return;
    }
    const bool are_gradients = std::all_of(slots.begin(), slots.end(), [&](SlotId slot) {
      return words_[slot] == "weight_grad" || words_[slot] == "bias_grad";
    });
    const std::string name = names_.take(are_gradients ? "gradients" : words_[slots.front()] + "s");
    add(fmt::format("{} = [{}]", name, all));
    add(release_text(from, {}));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::string to = fmt::format("{}[{}]", name, i);
      std::replace(homes_.begin(), homes_.end(), from[i], to);
      std::vector<std::string>& alive = alive_[program_.slots[slots[i]].storage];
      std::replace(alive.begin(), alive.end(), from[i], to);
      from[i] = to;
    }
    vectors_[fmt::format("{}", fmt::join(from, ", "))] = name;
  }

  void write_operator(std::size_t at) {
    for (const et_schema::Argument& argument : program_.instructions[at].args) {
      gather(argument);
    }
    std::size_t next = 0;
    std::vector<std::pair<SlotId, std::string>> made;
    const Scope scope{names_, [&] { return homes_[flow_.reads(at)[next++]]; },
                      [&](SlotId slot, const std::string& name) { made.emplace_back(slot, name); },
                      lines_, vectors_};
    write_statement(flow_, at, words_, calls_, scope);
    for (const auto& [slot, name] : made) {
      set_home(slot, name);
    }
  }

  /// Assigns the variable of the instruction's input to its result.
  void pass_on(std::size_t at) {
    const Instruction& instruction = program_.instructions[at];
    const std::vector<SlotId>& from = flow_.reads(at);
    if (from.size() == 1) {
      et_schema::for_each_slot(instruction.results,
                               [&](SlotId slot) { homes_[slot] = homes_[from.front()]; });
    }
    add(fmt::format("# {} means nothing here", commented(instruction.name)));
  }

  void write_communication(std::size_t at) {
    const Instruction& instruction = program_.instructions[at];
    if (instruction.kind == InstructionKind::kWait) {
      join(open_.take_waited(instruction));
      return;
    }
    for (const SlotId slot : flow_.reads(at)) {
      if (homes_[slot].empty()) {
        make_output(slot);
      }
    }
    const std::string call =
        communicate_text(program_, instruction, [this](SlotId slot) { return homes_[slot]; });
    if (et_schema::is_blocking(*instruction.comm)) {
      add(call + ".wait()");
      return;
    }
    const std::string name =
        names_.take(fmt::format("{}{}", identifier(instruction.name), work_names_.size() + 1));
    add(fmt::format("{} = {}", name, call));
    const auto number = static_cast<std::uint32_t>(work_names_.size());
    work_names_.push_back(name);
    open_.start(number, instruction);
  }

  /// Makes an output that no instruction made before.
  void make_output(SlotId slot) {
    const std::string name = names_.take(words_[slot]);
    add(fmt::format("{} = {}", name, empty_text(program_.slots[slot])));
    set_home(slot, name);
  }

  [[nodiscard]] std::string source() const {
    std::string text;
    if (!used_.empty()) {
      text = "class Named:\n    \"\"\"Called by name.\"\"\"\n\n";
      for (const auto& [object, named] : used_) {
        text += fmt::format("    {} = bench.Operator(\n        {}, {}, [{}],\n{})\n", object,
                            text_literal(named.schema), named.positional,
                            fmt::join(named.row_arguments, ", "), lines_literal(named.row, 8));
      }
      text += "\n\n";
    }
    text += "class Tensors:\n    \"\"\"What is there before the step.\"\"\"\n\n";
    text += "    def __init__(self):\n";
    for (const std::string& declaration : tensors_.declarations) {
      text += "        " + declaration + "\n";
    }
    text += tensors_.declarations.empty() ? "        pass\n\n\n" : "\n\n";
    text += "class Step:\n    def __init__(self):\n        self.t = Tensors()\n\n";
    text += "    def make(self, make):\n        t = self.t\n" + block(tensors_.making, 8) + "\n";
    text += "    def run(self):\n        t = self.t\n" + block(lines_, 8);
    for (const auto& [name, rule] : tensors_.long_rules) {
      text += fmt::format("\n\ndef {}():\n{}", name, wrapped("    return " + rule));
    }
    return text;
  }

  const Program& program_;
  Showing showing_;
  DataFlow flow_;
  Phases phases_;
  std::vector<std::string> words_;
  DeviceText devices_;
  Calls used_;
  CallWriter calls_;
  et_schema::OpenComms open_;
  TensorsText tensors_;
  NameBook names_;
  std::vector<std::string> homes_;               ///< by slot: its current tensor's variable
  std::vector<std::vector<std::string>> alive_;  ///< by storage: variables that keep it alive
  std::set<SlotId> kept_;
  std::map<std::size_t, std::vector<StorageId>> dying_;  ///< by instruction
  std::map<std::size_t, std::vector<StorageId>> late_;   ///< by instruction of the next step
  std::vector<std::string> work_names_;
  std::vector<std::string> lines_;
  Vectors vectors_;
  std::map<std::vector<SlotId>, int> lists_;  ///< number of arguments that are this list
};

}  // namespace

StepText write_step(const Program& program, std::vector<std::string> failing) {
  return StepWriter(program, std::move(failing)).write();
}

}  // namespace understudy::emitter
