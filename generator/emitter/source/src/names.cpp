#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/dtype.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;

/// How a slot is used by its readers.
struct Use {
  std::string argument;            ///< of the first reader
  std::size_t first = 0;           ///< the first reader
  bool is_updated = false;         ///< written in place by the optimizer
  bool is_read_by_update = false;  ///< read by the optimizer, which writes another tensor
  bool is_cleared = false;         ///< zeroed before the backward pass
  bool is_summed = false;          ///< written in place by the backward pass
  bool is_drawn = false;           ///< filled with random zeros and ones
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
          use.first = at;
        }
        const bool zeroes = instruction.name.find("zero_") != std::string::npos;
        use.is_cleared = use.is_cleared || (is_written && zeroes && at < phases.update);
        use.is_summed =
            use.is_summed || (is_written && at >= phases.backward && at < phases.update);
        use.is_drawn = use.is_drawn || instruction.name.starts_with("aten::bernoulli_");
        use.is_updated = use.is_updated || (is_written && at >= phases.update);
        use.is_read_by_update = use.is_read_by_update || (!is_written && at >= phases.update);
      });
    }
  }
  return uses;
}

bool is_vague(const std::string& word) {
  return word.empty() || word == "input" || word == "operand" || word == "out";
}

/// Returns "bias" for one dimension, otherwise "weight".
std::string parameter_word(const Slot& slot) {
  return slot.sizes.size() == 1 ? "bias" : "weight";
}

std::string external_word(const Program& program, const Slot& slot, const Use& use) {
  if (slot.wrapped_number) {
    return "scalar";
  }
  if (program.storages[slot.storage].state) {
    return !is_vague(use.argument) ? use.argument : slot.sizes.empty() ? "step_count" : "moment";
  }
  if (et_schema::is_floating(slot.dtype) && !slot.sizes.empty() &&
      (use.is_cleared || (use.is_summed && is_vague(use.argument)))) {
    return parameter_word(slot) + "_grad";
  }
  const bool is_named = use.argument == "weight" || use.argument == "bias" ||
                        use.argument.ends_with("_mean") || use.argument.ends_with("_var");
  if (use.is_updated && !is_named) {
    return parameter_word(slot);
  }
  if (use.argument.empty()) {
    return "unread";
  }
  if (is_vague(use.argument) && slot.dtype == et_schema::DType::kBool) {
    return "mask";
  }
  return is_vague(use.argument) && slot.value && et_schema::range_of(*slot.value) ? "indices"
                                                                                  : use.argument;
}

/// Returns names of results after the first, for operators whose schemas have none.
std::string_view known_result(std::string_view op, std::size_t result) {
  constexpr std::array<std::pair<std::string_view, std::array<std::string_view, 4>>, 9> kKnown = {
      {{"layer_norm", {"", "mean", "rstd", ""}},
       {"batch_norm", {"", "mean", "rstd", ""}},
       {"dropout", {"", "mask", "", ""}},
       {"batch_norm_impl_index", {"", "mean", "rstd", "reserve"}},
       {"embedding_bag", {"", "bag_of_index", "bag_size", "max_indices"}},
       {"max_pool2d_with_indices", {"", "indices", "", ""}},
       {"layer_norm_backward", {"", "weight_grad", "bias_grad", ""}},
       {"batch_norm_backward", {"", "weight_grad", "bias_grad", ""}},
       {"convolution_backward", {"", "weight_grad", "bias_grad", ""}}}};
  for (const auto& [name, results] : kKnown) {
    if (name == op && result < results.size()) {
      return results[result];
    }
  }
  return "";
}

/// Returns the name of a result in a schema: "(Tensor output, Tensor total_weight)".
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

/// Returns a word for the role of a result after the first; otherwise empty.
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

/// Returns true if an addition adds an earlier operator's input to its result: x + f(x).
bool is_residual(const DataFlow& flow, const std::vector<Use>& uses, std::size_t at) {
  const std::string& name = flow.program().instructions[at].name;
  const std::vector<SlotId>& reads = flow.reads(at);
  const auto is_made = [&](SlotId slot) { return !flow.program().slots[slot].external; };
  return name.starts_with("aten::add") && reads.size() == 2 &&
         std::all_of(reads.begin(), reads.end(), is_made) &&
         std::any_of(reads.begin(), reads.end(),
                     [&](SlotId slot) { return uses[slot].first < at; });
}

/// Returns a word for a result's role in the step.
std::string made_word(const DataFlow& flow, const Phases& phases, const std::vector<Use>& uses,
                      SlotId made, std::size_t at, const std::string& op) {
  const Slot& slot = flow.program().slots[made];
  const Use& use = uses[made];
  if (use.is_drawn) {
    return "mask";
  }
  if (phase_name(phases, at) != "backward") {
    const bool is_loss = slot.sizes.empty() && (op.find("loss") != std::string::npos ||
                                                op.find("cross_entropy") != std::string::npos);
    return is_loss ? "loss" : is_residual(flow, uses, at) ? "residual" : op;
  }
  if (use.is_read_by_update && !slot.sizes.empty()) {
    return parameter_word(slot) + "_grad";
  }
  if (slot.sizes.empty() && op == "ones_like") {
    return "grad_loss";  // the seed
  }
  const std::size_t mark = op.find("_backward");
  return "grad_" + (mark == std::string::npos ? op : op.substr(0, mark));
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
  constexpr std::string_view kNative = "native_";
  name.remove_prefix(name.starts_with(kNative) && name.size() > kNative.size() ? kNative.size()
                                                                               : 0);
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
          words[slot] =
              identifier(!telling.empty() ? telling : made_word(flow, phases, uses, slot, at, op));
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

}  // namespace understudy::emitter
