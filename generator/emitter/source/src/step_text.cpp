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
  StepWriter(const Program& program, Language language)
      : program_(program),
        language_(language),
        showing_(find_showing(program, language)),
        flow_(program, replaced_by(program, showing_.refused)),
        outline_(make_outline(flow_)),
        words_(slot_words(flow_, outline_.phases)),
        devices_{uses_accelerator(program)},
        calls_(program, language, devices_, used_),
        open_(program),
        homes_(program.slots.size()),
        alive_(program.storages.size()),
        lists_(count_lists(program)) {}

  StepText write() {
    find_kept();
    tensors_ = write_tensors(flow_, outline_, words_, kept_, devices_, language_);
    for (const auto& [slot, member] : tensors_.members) {
      if (!kept_.contains(slot)) {
        homes_[slot] = "t." + member;
      }
    }
    const std::vector<std::string> names = function_names(flow_, outline_);
    std::set<std::string> taken(names.begin(), names.end());
    for (std::size_t i = 0; i < outline_.functions.size(); ++i) {
      functions_.push_back(write_function(flow_, outline_, i, names[i], words_, calls_, language_));
      taken.insert(type_name(names[i]));
    }
    names_ = NameBook(std::move(taken));
    vectors_ = tensors_.vectors;
    write_units();
    lines_ = looped(lines_, is_python());
    StepText text;
    text.body = step_source({used_.named, tensors_, functions_, lines_}, language_);
    text.communicates = communicates_;
    text.used = std::move(used_);
    text.functions = functions_.size();
    text.calls = calls_made_;
    text.refused = showing_.refused;
    return text;
  }

 private:
  [[nodiscard]] bool is_python() const { return language_ == Language::kPython; }
  void add(const std::string& statement) {
    lines_.push_back(is_python() ? statement : statement + ";");
  }

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

  void write_units() {
    std::string phase;
    for (const Unit& unit : outline_.units) {
      const std::string now(phase_name(outline_.phases, unit.begin));
      if (now != phase) {
        phase = now;
        if (!lines_.empty()) {
          lines_.emplace_back();
        }
        lines_.push_back(fmt::format("{} {}", is_python() ? "#" : "//", now));
      }
      free_late(unit);
      for (std::size_t at = unit.begin; at < unit.end; ++at) {
        join(open_.take_touched(touched_by(program_, program_.instructions[at])));
      }
      if (unit.function) {
        write_call(unit, *unit.function);
      } else {
        for (std::size_t at = unit.begin; at < unit.end; ++at) {
          write_inline(at);
        }
      }
    }
    join(open_.take_all());
  }

  void join(const std::vector<std::uint32_t>& works) {
    for (const std::uint32_t work : works) {
      add(fmt::format("{}.wait()", work_names_[work]));
    }
  }

  /// Releases, before this unit, the tensors of the previous step whose memory is freed within it.
  void free_late(const Unit& unit) {
    std::vector<std::string> gone;
    for (auto entry = late_.lower_bound(unit.begin);
         entry != late_.end() && entry->first < unit.end; ++entry) {
      for (const StorageId storage : entry->second) {
        for (const SlotId slot : kept_) {
          if (program_.slots[slot].storage == storage) {
            gone.push_back("t." + tensors_.members.at(slot));
          }
        }
      }
    }
    free(gone);
  }

  void free(const std::vector<std::string>& variables) {
    if (!variables.empty()) {
      lines_.push_back(release_text(variables, language_, vectors_));
    }
  }

  /// Assigns a new variable to a slot's tensor.
  void set_home(SlotId slot, const std::string& name) {
    homes_[slot] = name;
    const StorageId storage = program_.slots[slot].storage;
    if (kept_.contains(slot)) {
      const std::string member = "t." + tensors_.members.at(slot);
      add(fmt::format("{} = {}", member, is_python() ? name : "std::move(" + name + ")"));
      homes_[slot] = member;
      return;
    }
    if (!program_.storages[storage].external) {
      alive_[storage].push_back(name);
    }
  }

  /// Removes and returns variables of storages that are freed in [begin, end), except `except`.
  std::vector<std::string> take_dead(std::size_t begin, std::size_t end,
                                     const std::set<std::string>& except) {
    std::vector<std::string> dead;
    for (auto entry = dying_.lower_bound(begin); entry != dying_.end() && entry->first < end;
         ++entry) {
      for (const StorageId storage : entry->second) {
        if (!is_worth_freeing(program_.storages[storage]) ||
            entry->first + 1 == showing_.refused.size()) {
          continue;
        }
        std::erase_if(alive_[storage], [&](const std::string& name) {
          if (except.contains(name)) {
            return false;
          }
          dead.push_back(name);
          return true;
        });
      }
    }
    return dead;
  }

  void write_call(const Unit& unit, std::size_t index) {
    const Function& function = outline_.functions[index];
    const FunctionText& text = functions_[index];
    const auto place = static_cast<std::size_t>(
        std::find(function.units.begin(), function.units.end(),
                  static_cast<std::size_t>(&unit - outline_.units.data())) -
        function.units.begin());
    std::vector<std::string> arguments;
    std::map<std::string, int> times;
    for (const std::vector<SlotId>& slots : function.parameters) {
      arguments.push_back(homes_[slots[place]]);
      ++times[arguments.back()];
    }
    free(take_dead(unit.begin, unit.end, {arguments.begin(), arguments.end()}));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      hand_over(unit, function.parameters[i][place], text.by_value[i], times, arguments[i]);
    }
    // If unqualified, argument-dependent lookup would find LibTorch's functions of the same name.
    const std::string call = fmt::format("{}{}({})", is_python() ? "" : "parts::", text.name,
                                         fmt::join(arguments, ", "));
    ++calls_made_;
    keep_results(unit, function, text, call);
    free(take_dead(unit.begin, unit.end, {}));
  }

  /// Moves a tensor into the function if its memory is freed there.
  void hand_over(const Unit& unit, SlotId slot, bool by_value,
                 const std::map<std::string, int>& times, std::string& argument) {
    const StorageId storage = program_.slots[slot].storage;
    const std::optional<std::size_t> death = flow_.death_of(storage);
    const bool goes = death && *death >= unit.begin && *death < unit.end;
    if (is_python() || !by_value || !goes || argument.starts_with("t.") || times.at(argument) > 1) {
      return;
    }
    std::erase(alive_[storage], argument);
    argument = "std::move(" + argument + ")";
  }

  void keep_results(const Unit& unit, const Function& function, const FunctionText& text,
                    const std::string& call) {
    if (function.results.empty()) {
      add(call);
      return;
    }
    const bool is_single = text.result_names.empty();
    const auto slot_of = [&](const Function::Result& result) {
      return new_tensors(flow_, unit.begin + result.instruction)[result.tensor];
    };
    const std::string name =
        names_.take(is_single ? words_[slot_of(function.results.front())]
                              : fmt::format("{}{}", text.name, ++instances_[text.name]));
    add(fmt::format("{}{} = {}", is_python() ? "" : is_single ? "Tensor " : "auto ", name, call));
    for (std::size_t i = 0; i < function.results.size(); ++i) {
      set_home(slot_of(function.results[i]),
               is_single ? name : fmt::format("{}.{}", name, text.result_names[i]));
    }
  }

  void write_inline(std::size_t at) {
    const Instruction& instruction = program_.instructions[at];
    if (instruction.comm) {
      write_communication(at);
    } else if (!showing_.refused[at].empty()) {
      lines_.push_back(fmt::format("{} {} is left out: {}", is_python() ? "#" : "//",
                                   commented(instruction.name), commented(showing_.refused[at])));
    } else if (means_nothing(instruction.name)) {
      pass_on(at);
    } else {
      write_operator(at);
    }
    free(take_dead(at, at + 1, {}));
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
    add(is_python() ? fmt::format("{} = [{}]", name, all)
                    : fmt::format("std::vector<Tensor> {} = bench::gather({})", name, all));
    if (is_python()) {
      lines_.push_back(release_text(from, language_, {}));
    }
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
    const Scope scope{language_,
                      names_,
                      [&] { return homes_[flow_.reads(at)[next++]]; },
                      [&](SlotId slot, const std::string& name) { made.emplace_back(slot, name); },
                      lines_,
                      vectors_};
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
    lines_.push_back(fmt::format("{} {} means nothing here", is_python() ? "#" : "//",
                                 commented(instruction.name)));
  }

  void write_communication(std::size_t at) {
    const Instruction& instruction = program_.instructions[at];
    communicates_ = true;
    if (instruction.kind == InstructionKind::kWait) {
      join(open_.take_waited(instruction));
      return;
    }
    for (const SlotId slot : flow_.reads(at)) {
      if (homes_[slot].empty()) {
        make_output(slot);
      }
    }
    const std::string call = communicate_text(program_, instruction, language_,
                                              [this](SlotId slot) { return homes_[slot]; });
    if (et_schema::is_blocking(*instruction.comm)) {
      add(call + ".wait()");
      return;
    }
    const std::string name =
        names_.take(fmt::format("{}{}", identifier(instruction.name), work_names_.size() + 1));
    add(fmt::format("{}{} = {}", is_python() ? "" : "bench::Work ", name, call));
    const auto number = static_cast<std::uint32_t>(work_names_.size());
    work_names_.push_back(name);
    open_.start(number, instruction);
  }

  /// Makes an output that no instruction made before.
  void make_output(SlotId slot) {
    const std::string name = names_.take(words_[slot]);
    add(fmt::format("{}{} = {}", is_python() ? "" : "Tensor ", name,
                    empty_text(program_.slots[slot], language_)));
    set_home(slot, name);
  }

  const Program& program_;
  Language language_;
  Showing showing_;
  DataFlow flow_;
  Outline outline_;
  std::vector<std::string> words_;
  DeviceText devices_;
  Calls used_;
  CallWriter calls_;
  et_schema::OpenComms open_;
  TensorsText tensors_;
  std::vector<FunctionText> functions_;
  NameBook names_;
  std::vector<std::string> homes_;               ///< by slot: its current tensor's variable
  std::vector<std::vector<std::string>> alive_;  ///< by storage: variables that keep it alive
  std::set<SlotId> kept_;
  std::map<std::size_t, std::vector<StorageId>> dying_;  ///< by instruction
  std::map<std::size_t, std::vector<StorageId>> late_;   ///< by instruction of the next step
  std::map<std::string, int> instances_;                 ///< by function: number of named results
  std::vector<std::string> work_names_;
  std::vector<std::string> lines_;
  Vectors vectors_;
  std::map<std::vector<SlotId>, int> lists_;  ///< number of arguments that are this list
  bool communicates_ = false;
  std::uint64_t calls_made_ = 0;
};

}  // namespace

StepText write_step(const Program& program, Language language) {
  return StepWriter(program, language).write();
}

}  // namespace understudy::emitter
