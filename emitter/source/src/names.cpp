#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "et_schema/model/op_class.h"
#include "et_schema/model/schema_text.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;

/// How slots are used, from the first reader on.
struct Use {
  std::string argument;            ///< of the first reader
  bool is_updated = false;         ///< written in place by the optimizer
  bool is_read_by_update = false;  ///< the optimizer reads it, and writes another tensor
};

std::string singular(std::string name) {
  const bool is_list = name.size() > 2 && name.ends_with('s') && !name.ends_with("ss");
  return is_list ? name.substr(0, name.size() - 1) : name;
}

std::string argument_word(const Program& program, const Instruction& instruction,
                          std::size_t argument, bool in_list) {
  if (!instruction.schema) {
    return "buffer";
  }
  const auto names = et_schema::argument_names(program.schemas[*instruction.schema]);
  std::string name = argument < names.size() ? std::string(names[argument]) : "input";
  if (in_list) {
    name = singular(name);
  }
  if (name == "self" || name == "tensor" || name == "src") {
    return "input";
  }
  return name == "other" || name == "mat2" || name == "mat1" || name == "tensor1" ? "operand"
                                                                                  : name;
}

std::vector<Use> uses_of_slots(const DataFlow& flow, const Phases& phases) {
  const Program& program = flow.program();
  std::vector<Use> uses(program.slots.size());
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      const bool in_list =
          std::holds_alternative<et_schema::Argument::List>(instruction.args[i].value);
      const bool is_written = instruction.schema && et_schema::argument_is_written(
                                                        program.schemas[*instruction.schema], i);
      et_schema::for_each_slot({instruction.args[i]}, [&](SlotId slot) {
        Use& use = uses[slot];
        if (use.argument.empty()) {
          use.argument = argument_word(program, instruction, i, in_list);
        }
        use.is_updated = use.is_updated || (is_written && at >= phases.update);
        use.is_read_by_update = use.is_read_by_update || (!is_written && at >= phases.update);
      });
    }
  }
  return uses;
}

std::string external_word(const Program& program, const Slot& slot, const Use& use) {
  if (slot.wrapped_number) {
    return "scalar";
  }
  const bool is_named = use.argument == "weight" || use.argument == "bias" ||
                        use.argument.ends_with("_mean") || use.argument.ends_with("_var");
  if (program.storages[slot.storage].state) {
    return use.argument == "input" || use.argument == "operand" ? "state" : use.argument;
  }
  if (use.is_updated && !is_named) {
    return "weight";
  }
  return use.argument.empty() ? "unread" : use.argument;
}

/// What results behind the first are, of operators whose schemas do not say it.
std::string_view known_result(std::string_view op, std::size_t result) {
  constexpr std::array<std::pair<std::string_view, std::array<std::string_view, 4>>, 8> kKnown = {
      {{"native_layer_norm", {"", "mean", "rstd", ""}},
       {"native_batch_norm", {"", "mean", "rstd", ""}},
       {"batch_norm_impl_index", {"", "mean", "rstd", "reserve"}},
       {"embedding_bag", {"", "bag_of_index", "bag_size", "max_indices"}},
       {"max_pool2d_with_indices", {"", "indices", "", ""}},
       {"native_layer_norm_backward", {"", "weight_grad", "bias_grad", ""}},
       {"native_batch_norm_backward", {"", "weight_grad", "bias_grad", ""}},
       {"convolution_backward", {"", "weight_grad", "bias_grad", ""}}}};
  for (const auto& [name, results] : kKnown) {
    if (name == op && result < results.size()) {
      return results[result];
    }
  }
  return "";
}

/// The name that a schema gives to a result: "(Tensor output, Tensor total_weight)".
std::string_view returned_name(std::string_view schema, std::size_t result) {
  std::string_view returns = et_schema::returns_of(schema);
  if (!returns.starts_with('(')) {
    return "";
  }
  for (; result > 0; --result) {
    const std::size_t comma = returns.find(", ");
    if (comma == std::string_view::npos) {
      return "";
    }
    returns.remove_prefix(comma + 2);
  }
  returns = returns.substr(0, returns.find_first_of(",)", 1));
  const std::size_t space = returns.rfind(' ');
  return space == std::string_view::npos ? "" : returns.substr(space + 1);
}

/// A result behind the first by what it is; else empty.
std::string result_word(const Program& program, const Instruction& instruction,
                        const std::string& op, std::size_t result) {
  if (result == 0) {
    return "";
  }
  const std::string_view known = known_result(op, result);
  return std::string(!known.empty() || !instruction.schema
                         ? known
                         : returned_name(program.schemas[*instruction.schema], result));
}

std::string made_word(const Slot& slot, const Use& use, const std::string& op,
                      std::string_view phase) {
  if (phase != "backward") {
    return op;
  }
  if (use.is_read_by_update && !slot.sizes.empty()) {
    return slot.sizes.size() == 1 ? "bias_grad" : "weight_grad";
  }
  const std::size_t mark = op.find("_backward");
  return "grad_" + (mark == std::string::npos ? op : op.substr(0, mark));
}

/// The words that tell most about a stretch, at most two, in order.
std::string content_of(const DataFlow& flow, const Unit& unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTelling = {
      {{"attention", "attention"},
       {"convolution", "conv"},
       {"recurrent", "recurrent"},
       {"embedding", "embedding"},
       {"loss", "loss"}}};
  std::vector<std::string> words;
  const auto add = [&words](const std::string& word) {
    if (words.size() < 2 && std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
  };
  const auto& instructions = flow.program().instructions;
  for (const auto& [op_class, word] : kTelling) {
    for (std::size_t at = unit.begin; at < unit.end; ++at) {
      const std::string& name = instructions[at].name;
      const bool is_loss = op_class == "loss" && name.find("cross_entropy") != std::string::npos;
      if (is_loss || et_schema::op_class(name) == op_class) {
        add(std::string(word));
      }
    }
  }
  if (unit.end - unit.begin > 6 && words.empty()) {
    std::map<std::string, std::size_t> counts;
    for (std::size_t at = unit.begin; at < unit.end; ++at) {
      const std::string_view op_class = et_schema::op_class(instructions[at].name);
      if (op_class != "view" && op_class != "allocation") {
        ++counts[operator_word(instructions[at].name)];
      }
    }
    if (!counts.empty()) {
      add(std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first);
    }
  }
  for (std::size_t at = unit.begin; at < unit.end && words.empty(); ++at) {
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      const std::string_view op_class = et_schema::op_class(instructions[i].name);
      if (op_class != "view" && op_class != "allocation" && op_class != "copy") {
        add(operator_word(instructions[i].name));
      }
    }
    add(operator_word(instructions[at].name));
  }
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : "_") + word;
  }
  return text;
}

}  // namespace

std::string NameBook::take(const std::string& base) {
  std::string name = base;
  for (int number = 2; !taken_.insert(name).second; ++number) {
    const bool ends_in_digit = std::isdigit(static_cast<unsigned char>(base.back())) != 0;
    name = fmt::format("{}{}{}", base, ends_in_digit ? "_" : "", number);
  }
  return name;
}

std::string operator_word(std::string_view name) {
  const std::size_t space = name.rfind("::");
  name = space == std::string_view::npos ? name : name.substr(space + 2);
  name = name.substr(0, name.find('.'));
  if (name.find("scaled_dot_product") != std::string_view::npos) {
    return name.find("backward") == std::string_view::npos ? "attention" : "attention_backward";
  }
  return name == "t" ? "transposed" : identifier(name);
}

std::vector<std::string> slot_words(const DataFlow& flow, const Phases& phases) {
  const Program& program = flow.program();
  const std::vector<Use> uses = uses_of_slots(flow, phases);
  std::vector<std::string> words(program.slots.size());
  std::map<StorageId, std::string> named;
  for (SlotId slot = 0; slot < words.size(); ++slot) {
    if (program.slots[slot].external) {
      const auto [found, added] =
          named.try_emplace(program.slots[slot].storage,
                            identifier(external_word(program, program.slots[slot], uses[slot])));
      words[slot] = added ? found->second : found->second + "_view";
    } else if (flow.is_given(slot)) {
      words[slot] = "given";
    }
  }
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    const std::string op =
        instruction.kind == InstructionKind::kAlias ? "view" : operator_word(instruction.name);
    for (std::size_t result = 0; result < instruction.results.size(); ++result) {
      const std::string telling = result_word(program, instruction, op, result);
      et_schema::for_each_slot({instruction.results[result]}, [&](SlotId slot) {
        if (words[slot].empty()) {
          words[slot] = identifier(!telling.empty() ? telling
                                                    : made_word(program.slots[slot], uses[slot], op,
                                                                phase_name(phases, at)));
        }
      });
    }
    if (instruction.comm) {
      et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
        words[slot] = words[slot].empty() ? identifier(instruction.name) : words[slot];
      });
    }
  }
  return words;
}

std::vector<std::string> function_names(const DataFlow& flow, const Outline& outline) {
  NameBook book;
  std::vector<std::string> names;
  for (const Function& function : outline.functions) {
    const Unit& unit = outline.units[function.units.front()];
    const std::string_view phase = phase_name(outline.phases, unit.begin);
    std::string name = content_of(flow, unit);
    if (phase == "backward" && name.find("backward") == std::string::npos) {
      name += "_backward";
    } else if (phase == "update") {
      name = "update_" + name;
    }
    names.push_back(book.take(identifier(name)));
  }
  return names;
}

}  // namespace understudy::emitter
