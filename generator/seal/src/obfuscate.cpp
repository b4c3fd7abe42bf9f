#include "generator/seal/obfuscate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/model/schema_text.h"
#include "et_schema/support/overloaded.h"
#include "public_words.h"

namespace understudy::generator {
namespace {

using et_schema::Argument;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

/// One significant digit: 0.00035 → 0.0003 or 0.0004. Near 1 that of the distance to it, 0.9987 →
/// 0.999: what decays goes on to do so, and a bound below 1 stays below.
double rounded(double value) {
  if (!std::isfinite(value) || value == 0 || value == std::trunc(value)) {
    return value;
  }
  const double from_one = std::abs(value) - 1;
  if (std::abs(from_one) < 0.1) {
    return std::copysign(
        std::strtod(fmt::format("{:.15g}", 1 + rounded(from_one)).c_str(), nullptr), value);
  }
  return std::strtod(fmt::format("{:.0e}", value).c_str(), nullptr);
}

/// Numbers in ascending order get 1, 2, …
class Renumbering {
 public:
  void see(std::uint64_t number) { numbers_.push_back(number); }
  void close() {
    std::ranges::sort(numbers_);
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  }
  [[nodiscard]] std::uint64_t of(std::uint64_t number) const {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(numbers_, number) -
                                      numbers_.begin()) +
           1;
  }

 private:
  std::vector<std::uint64_t> numbers_;
};

template <typename Visitor>
void for_each_instruction(std::vector<Instruction>& instructions, Visitor&& visit) {
  for (Instruction& instruction : instructions) {
    visit(instruction);
    for_each_instruction(instruction.body, visit);
  }
}

class Obfuscator {
 public:
  explicit Obfuscator(Bench bench) { result_.bench = std::move(bench); }

  Obfuscated run() {
    result_.bench.sources.clear();
    hide_groups();
    find_first_sequence();
    for (Program& program : result_.bench.programs) {
      hide_program(program);
    }
    return std::move(result_);
  }

 private:
  /// The same replacement for the same original, in order of first occurrence.
  std::string hide(const std::string& kind, const std::string& original,
                   std::string_view prefix = {}) {
    if (original.empty()) {
      return original;
    }
    std::map<std::string, std::string>& known = replacements_[kind];
    const auto [entry, is_new] = known.try_emplace(original);
    if (is_new) {
      entry->second = fmt::format("{}{}", prefix.empty() ? kind : prefix, known.size());
      result_.map[kind][entry->second] = original;
    }
    return entry->second;
  }

  void hide_groups() {
    for (std::size_t id = 0; id < result_.bench.groups.size(); ++id) {
      et_schema::ProcessGroup& group = result_.bench.groups[id];
      if (id > 0) {
        group.name = hide("group", group.name);
      }
      group.description = hide("description", group.description);
      if (!is_public_backend(group.backend)) {
        group.backend = hide("backend", group.backend);
      }
    }
  }

  void find_first_sequence() {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (Program& program : result_.bench.programs) {
      for_each_instruction(program.instructions, [&first](Instruction& instruction) {
        if (instruction.comm && instruction.comm->seq) {
          first = std::min(first, *instruction.comm->seq);
        }
      });
    }
    first_sequence_ = first == std::numeric_limits<std::int64_t>::max() ? 0 : first;
  }

  void hide_program(Program& program) {
    Renumbering nodes;
    Renumbering threads;
    for_each_instruction(program.instructions, [&](Instruction& instruction) {
      nodes.see(instruction.node_id);
      threads.see(instruction.thread);
    });
    nodes.close();
    threads.close();
    for (const Instruction& instruction : program.instructions) {
      const bool is_hidden =
          instruction.kind == InstructionKind::kOp && !is_public_operator(instruction.name);
      result_.hidden_operators += is_hidden ? 1U : 0U;
      result_.without_body += is_hidden && instruction.body.empty() ? 1U : 0U;
    }
    for_each_instruction(program.instructions, [&](Instruction& instruction) {
      instruction.node_id = nodes.of(instruction.node_id);
      instruction.thread = threads.of(instruction.thread);
      hide_instruction(instruction);
    });
    for (std::string& schema : program.schemas) {
      schema = hide_schema(schema);
    }
    hide_values(program);
    hide_selection(program.selection);
    if (program.profile) {
      hide_profile(*program.profile);
    }
  }

  void hide_instruction(Instruction& instruction) {
    switch (instruction.kind) {
      case InstructionKind::kOp:
        instruction.name = hide_operator(instruction.name);
        break;
      case InstructionKind::kNative:
        if (!is_public_label(instruction.name)) {
          instruction.name = hide("label", instruction.name);
        }
        break;
      case InstructionKind::kKernel:
        instruction.name = hide("kernel", instruction.name);
        break;
      case InstructionKind::kMarker:
        instruction.name = hide("marker", instruction.name);
        break;
      case InstructionKind::kAlias:
      case InstructionKind::kCollective:
      case InstructionKind::kP2p:
      case InstructionKind::kWait:
        break;  // of a fixed vocabulary
    }
    const bool is_kernel = instruction.kind == InstructionKind::kKernel;
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      // The roles of a C++ kernel's arguments stand before the name of its file.
      hide_argument(instruction.args[i], is_kernel && i + 2 == instruction.args.size());
    }
    for (Argument& argument : instruction.results) {
      hide_argument(argument, false);
    }
    if (instruction.comm && instruction.comm->seq) {
      *instruction.comm->seq -= first_sequence_;
    }
  }

  std::string hide_operator(const std::string& name) {
    return is_public_operator(name) ? name : hide("operator", name, "private::op");
  }

  /// Names of arguments tell as much as those of operators: types stay.
  std::string hide_schema(const std::string& schema) {
    const std::string name(et_schema::operator_name(schema));
    if (is_public_operator(name)) {
      return schema;
    }
    std::string hidden = schema;
    const std::vector<std::string_view> arguments = et_schema::argument_names(schema);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      replace_word(hidden, std::string(arguments[i]), fmt::format("arg{}", i));
    }
    const std::size_t open = hidden.find('(');
    return hide_operator(name) +
           (open == std::string::npos ? "" : without_texts(hidden.substr(open)));
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  /// The name of an argument follows its type, and nothing of a type follows it.
  static void replace_word(std::string& text, const std::string& word, const std::string& by) {
    const std::size_t open = text.find('(');
    for (std::size_t at = text.find(word, open); !word.empty() && at != std::string::npos;
         at = text.find(word, at + 1)) {
      const char next = at + word.size() < text.size() ? text[at + word.size()] : ',';
      if (text[at - 1] == ' ' && (next == ',' || next == ')' || next == '=')) {
        text.replace(at, word.size(), by);
        return;
      }
    }
  }

  /// Defaults that are texts, and the paths of classes.
  static std::string without_texts(std::string text) {
    for (std::size_t quote = text.find_first_of("\"'"); quote != std::string::npos;
         quote = text.find_first_of("\"'", quote)) {
      const std::size_t end = text.find(text[quote], quote + 1);
      text.erase(quote, end == std::string::npos ? std::string::npos : end + 1 - quote);
    }
    constexpr std::string_view kClass = "__torch__.";
    for (std::size_t at = text.find(kClass); at != std::string::npos; at = text.find(kClass, at)) {
      std::size_t end = at;
      while (end < text.size() && (is_word(text[end]) || text[end] == '.')) {
        ++end;
      }
      text.replace(at, end - at, "Object");
    }
    return text;
  }

  void hide_argument(Argument& argument, bool is_roles) {
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) {
        hide_argument(item, false);
      }
    } else if (auto* text = std::get_if<std::string>(&argument.value)) {
      const bool is_open =
          is_roles ? text->find_first_not_of("rw- ") == std::string::npos : is_public_text(*text);
      *text = is_open ? *text : hide("text", *text);
    } else if (auto* number = std::get_if<double>(&argument.value)) {
      *number = round_number(*number);
    } else if (auto* opaque = std::get_if<Argument::Opaque>(&argument.value)) {
      opaque->tag = is_public_tag(opaque->tag) ? opaque->tag : "Object";
    }
  }

  double round_number(double value) {
    const double by = rounded(value);
    const bool is_same = by == value || (std::isnan(by) && std::isnan(value));
    result_.rounded_numbers += is_same ? 0U : 1U;
    return by;
  }

  void round_numbers(et_schema::ValueRule& rule) {
    using et_schema::ValueRule;
    const auto round = [this](double& number) { number = round_number(number); };
    const et_schema::Overloaded round_all = {
        [](ValueRule::Zeros&) {},
        [&](ValueRule::Constant& constant) { round(constant.value); },
        [&](ValueRule::Uniform& uniform) {
          round(uniform.low);
          round(uniform.high);
        },
        [&](ValueRule::Normal& normal) {
          round(normal.mean);
          round(normal.deviation);
        },
        [](ValueRule::Integers&) {},
        [](ValueRule::Offsets&) {},
        [](ValueRule::Lengths&) {},
        [](ValueRule::Arange&) {},
        [&](ValueRule::Bernoulli& bernoulli) { round(bernoulli.probability); },
        [](ValueRule::Mask&) {},
        [&](ValueRule::Targets& targets) { round(targets.ignored_share); },
        [](ValueRule::ReusedIntegers&) {},
        [&](ValueRule::Dominant& matrices) { round(matrices.diagonal); }};
    std::visit(round_all, rule.kind);
  }

  void hide_values(Program& program) {
    for (et_schema::Slot& slot : program.slots) {
      if (!slot.value) {
        continue;
      }
      round_numbers(*slot.value);
      // "aten::embedding.indices", or a sentence.
      if (slot.value->why.find("::") != std::string::npos && !is_public_operator(slot.value->why)) {
        slot.value->why = "an operator";
      }
    }
  }

  void hide_selection(et_schema::Selection& selection) {
    if (!selection.step.empty() && selection.step != "all") {
      selection.step = "a step";
    }
    for (std::string& filter : selection.filters) {
      filter = filter.substr(0, filter.find(' '));
    }
    for (et_schema::Opened& opened : selection.opened) {
      opened.name = hide_operator(opened.name);
    }
  }

  void hide_profile(et_schema::RecordedProfile& profile) {
    profile.file = "profile";
    profile.bytes = 0;
    profile.content_hash = 0;
    profile.variables.clear();
    profile.kernel_settings.clear();
    for (et_schema::LostDeviceEvents& lost : profile.lost) {
      lost.name = hide("kernel", lost.name);
    }
  }

  Obfuscated result_;
  std::map<std::string, std::map<std::string, std::string>> replacements_;  ///< kind → original → …
  std::int64_t first_sequence_ = 0;
};

}  // namespace

Obfuscated obfuscate(Bench bench) {
  return Obfuscator(std::move(bench)).run();
}

std::string to_json(const ObfuscationMap& map) {
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  for (const auto& [kind, replacements] : map) {
    for (const auto& [replacement, original] : replacements) {
      names[kind][replacement] = original;
    }
  }
  const nlohmann::ordered_json document = {
      {"format", "understudy-names"}, {"version", 1}, {"names", std::move(names)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace understudy::generator
