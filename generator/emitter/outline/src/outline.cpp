#include "generator/emitter/outline/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>

#include "generator/emitter/outline/repeats.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

/// The longest range that is written in the step itself, and the length of the functions that
/// longer ranges are divided into.
constexpr std::size_t kLongestInline = 12;
constexpr std::size_t kShortestPart = 24;
constexpr std::size_t kLongestPart = 48;
/// The most parameters of a function that is called once.
constexpr std::size_t kMostParameters = 32;

/// The text of an argument, without the identity of its tensors.
struct ArgumentText {
  std::string operator()(const Argument::None&) const { return "none"; }
  std::string operator()(const Argument::Undefined&) const { return "undefined"; }
  std::string operator()(const Argument::SlotRef&) const { return "tensor"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}f", value); }
  std::string operator()(const std::string& value) const { return "'" + value + "'"; }
  std::string operator()(const Argument::DeviceRef& value) const {
    return et_schema::to_string(value.device);
  }
  std::string operator()(const Argument::Opaque& value) const { return "<" + value.tag + ">"; }
  std::string operator()(const Argument::List& list) const {
    std::string text = "(";
    for (const Argument& argument : list) {
      text += std::visit(*this, argument.value) + ",";
    }
    return text + ")";
  }
};

std::string layout_text(const et_schema::Slot& from, const et_schema::Slot& to) {
  std::string text =
      fmt::format("{}>{}:", static_cast<int>(from.dtype), static_cast<int>(to.dtype));
  for (std::size_t i = 0; i < to.sizes.size(); ++i) {
    text += fmt::format("{}/{} ", to.sizes[i], to.strides[i]);
  }
  return text + fmt::format("@{}-{}", to.offset, from.offset);
}

/// Returns equal texts for instructions that one source line can express.
std::string token_text(const DataFlow& flow, std::size_t at) {
  const Program& program = flow.program();
  const Instruction& instruction = program.instructions[at];
  std::string text = fmt::format("{} {} {} ", static_cast<int>(instruction.kind), instruction.name,
                                 instruction.schema ? static_cast<int>(*instruction.schema) : -1);
  text += ArgumentText()(instruction.args);
  for (const Argument& result : instruction.results) {
    const auto* list = std::get_if<Argument::List>(&result.value);
    text += list != nullptr ? fmt::format("[{}]", list->size())
                            : fmt::format("{}", static_cast<int>(flow.kind_of(at, result)));
  }
  if (instruction.kind == InstructionKind::kAlias && !instruction.results.empty()) {
    const auto* to = std::get_if<Argument::SlotRef>(&instruction.results.front().value);
    if (to != nullptr && !flow.reads(at).empty()) {
      text += layout_text(program.slots[flow.reads(at).front()], program.slots[to->id]);
    }
  }
  // Tensors made before the step are members of the step, so no function can make them.
  return instruction.comm || flow.is_replaced(at) ? fmt::format("{} {}", at, text) : text;
}

class Outliner {
 public:
  explicit Outliner(const DataFlow& flow) : flow_(flow) {
    std::unordered_map<std::string, std::uint32_t> ids;
    for (std::size_t at = 0; at < flow.program().instructions.size(); ++at) {
      const auto next = static_cast<std::uint32_t>(ids.size());
      tokens_.push_back(ids.try_emplace(token_text(flow, at), next).first->second);
    }
  }

  Outline make() {
    const auto& instructions = flow_.program().instructions;
    outline_.phases = find_phases(flow_.program());
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= instructions.size(); ++at) {
      const bool is_apart =
          at < instructions.size() && (instructions[at].comm || flow_.is_replaced(at));
      const bool ends = at == instructions.size() || at == outline_.phases.backward ||
                        at == outline_.phases.update || is_apart;
      if (!ends) {
        continue;
      }
      add_stretch(begin, at);
      begin = at;
      if (is_apart) {
        add_inline(at, at + 1);
        begin = at + 1;
      }
    }
    share_functions();
    return std::move(outline_);
  }

 private:
  void add_inline(std::size_t begin, std::size_t end) {
    if (begin < end) {
      outline_.units.push_back({begin, end, std::nullopt});
    }
  }

  /// Returns true for unread views and for numbers that are read out, which make no function.
  [[nodiscard]] bool is_idle(std::size_t at) const {
    return flow_.is_unread_view(at) ||
           flow_.program().instructions[at].name.starts_with("aten::item") ||
           flow_.program().instructions[at].name.starts_with("aten::_local_scalar_dense");
  }

  void add_function(std::size_t begin, std::size_t end) {
    const auto instructions = std::views::iota(begin, end);
    if (std::ranges::all_of(instructions, [this](std::size_t at) { return is_idle(at); })) {
      add_inline(begin, end);
      return;
    }
    candidates_.push_back(outline_.units.size());
    outline_.units.push_back({begin, end, std::nullopt});
  }

  void add_stretch(std::size_t begin, std::size_t end) {
    const auto cost = [this](std::size_t at) { return flow_.crossing(at); };
    std::size_t from = begin;
    for (const Repeat& repeat : find_repeats(tokens_, begin, end, cost)) {
      add_rest(from, repeat.begin);
      for (std::size_t i = 0; i < repeat.count; ++i) {
        add_function(repeat.begin + i * repeat.period, repeat.begin + (i + 1) * repeat.period);
      }
      from = repeat.end();
    }
    add_rest(from, end);
  }

  /// Divides a range without repeats where the fewest tensors cross.
  void add_rest(std::size_t begin, std::size_t end) {
    if (end - begin <= kLongestInline) {
      add_inline(begin, end);
      return;
    }
    while (end - begin > kLongestPart) {
      std::size_t cut = begin + kShortestPart;
      for (std::size_t at = cut; at <= std::min(begin + kLongestPart, end); ++at) {
        cut = flow_.crossing(at) < flow_.crossing(cut) ? at : cut;
      }
      add_function(begin, cut);
      begin = cut;
    }
    add_function(begin, end);
  }

  /// The connections of a unit's tensors: for each read, where in the unit the tensor is made, if
  /// there.
  struct Pattern {
    std::string text;
    std::vector<SlotId> outer;  ///< slots of reads of tensors from outside, in order
    std::vector<std::vector<bool>> is_outer;
  };

  [[nodiscard]] Pattern pattern_of(const Unit& unit) const {
    Pattern pattern;
    std::map<SlotId, std::string> made;
    for (std::size_t at = unit.begin; at < unit.end; ++at) {
      pattern.text += fmt::format("{}:", tokens_[at]);
      pattern.is_outer.emplace_back();
      for (const SlotId slot : flow_.reads(at)) {
        const auto found = made.find(slot);
        pattern.text += found == made.end() ? "o" : found->second;
        pattern.is_outer.back().push_back(found == made.end());
        if (found == made.end()) {
          pattern.outer.push_back(slot);
        }
      }
      const std::vector<SlotId> slots = new_tensors(flow_, at);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        made[slots[i]] = fmt::format("m{}.{}", at - unit.begin, i);
      }
    }
    return pattern;
  }

  void share_functions() {
    std::map<std::string, std::size_t> known;
    std::vector<std::vector<Pattern>> patterns;
    std::vector<Pattern> all;
    std::map<std::string, std::size_t> times;
    for (const std::size_t index : candidates_) {
      all.push_back(pattern_of(outline_.units[index]));
      ++times[all.back().text];
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t index = candidates_[i];
      Unit& unit = outline_.units[index];
      Pattern& pattern = all[i];
      const std::set<SlotId> parameters(pattern.outer.begin(), pattern.outer.end());
      if (times[pattern.text] == 1 && parameters.size() > kMostParameters) {
        continue;  // the call would be longer than the code it hides
      }
      const auto [found, added] = known.try_emplace(pattern.text, outline_.functions.size());
      if (added) {
        outline_.functions.emplace_back();
        patterns.emplace_back();
      }
      unit.function = found->second;
      outline_.functions[found->second].units.push_back(index);
      patterns[found->second].push_back(std::move(pattern));
    }
    for (std::size_t i = 0; i < outline_.functions.size(); ++i) {
      find_parameters(outline_.functions[i], patterns[i]);
      find_results(outline_.functions[i]);
    }
  }

  static void find_parameters(Function& function, const std::vector<Pattern>& patterns) {
    std::map<std::vector<SlotId>, std::size_t> known;
    std::size_t next = 0;
    for (const std::vector<bool>& is_outer : patterns.front().is_outer) {
      function.reads.emplace_back();
      for (const bool outer : is_outer) {
        if (!outer) {
          function.reads.back().push_back(std::nullopt);
          continue;
        }
        std::vector<SlotId> slots;
        for (const Pattern& pattern : patterns) {
          slots.push_back(pattern.outer[next]);
        }
        ++next;
        const auto [found, added] = known.try_emplace(slots, function.parameters.size());
        if (added) {
          function.parameters.push_back(slots);
        }
        function.reads.back().push_back(found->second);
      }
    }
  }

  void find_results(Function& function) const {
    const Unit& first = outline_.units[function.units.front()];
    for (std::size_t at = first.begin; at < first.end; ++at) {
      for (std::size_t tensor = 0; tensor < new_tensors(flow_, at).size(); ++tensor) {
        const Function::Result result{at - first.begin, tensor};
        if (std::ranges::any_of(function.units, [&](std::size_t unit) {
              return needs_result(outline_.units[unit], result);
            })) {
          function.results.push_back(result);
        }
      }
    }
  }

  [[nodiscard]] bool needs_result(const Unit& unit, Function::Result result) const {
    const std::size_t at = unit.begin + result.instruction;
    const SlotId slot = new_tensors(flow_, at)[result.tensor];
    for (std::size_t later = at + 1; later < unit.end; ++later) {
      const std::vector<SlotId> slots = new_tensors(flow_, later);
      if (std::find(slots.begin(), slots.end(), slot) != slots.end()) {
        return false;  // another tensor replaces it
      }
    }
    const et_schema::StorageId storage = flow_.program().slots[slot].storage;
    const std::optional<std::size_t> death = flow_.death_of(storage);
    const bool is_held = flow_.is_holder(slot) && (!death || *death >= unit.end);
    return flow_.is_read_after(slot, unit.end) || is_held;
  }

  const DataFlow& flow_;
  std::vector<std::uint32_t> tokens_;
  std::vector<std::size_t> candidates_;  ///< units that become functions
  Outline outline_;
};

}  // namespace

std::vector<SlotId> new_tensors(const DataFlow& flow, std::size_t at) {
  std::vector<SlotId> slots;
  for (const Argument& result : flow.program().instructions[at].results) {
    et_schema::for_each_slot({result}, [&](SlotId slot) {
      if (flow.kind_of(at, {Argument::SlotRef{slot}}) == ResultKind::kNew) {
        slots.push_back(slot);
      }
    });
  }
  return slots;
}

Outline make_outline(const DataFlow& flow) {
  return Outliner(flow).make();
}

}  // namespace understudy::emitter
