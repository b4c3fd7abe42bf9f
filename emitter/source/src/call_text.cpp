#include "call_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "et_schema/model/epsilon.h"
#include "et_schema/model/schema_text.h"
#include "names.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::SchemaArgument;

/// LibTorch's operators without a function at::NAME, that are methods of a tensor (torch 2.11's
/// headers). Names that end in "_" are methods but for kFunctionsInPlace.
const std::set<std::string, std::less<>>& methods() {
  static const std::set<std::string, std::less<>> kNames = {"_coalesced",
                                                            "_dimI",
                                                            "_dimV",
                                                            "_indices",
                                                            "_nested_tensor_size",
                                                            "_nnz",
                                                            "_to_dense",
                                                            "_to_sparse",
                                                            "_values",
                                                            "align_as",
                                                            "align_to",
                                                            "ccol_indices",
                                                            "coalesce",
                                                            "col_indices",
                                                            "contiguous",
                                                            "crow_indices",
                                                            "dense_dim",
                                                            "expand",
                                                            "expand_as",
                                                            "indices",
                                                            "is_coalesced",
                                                            "is_pinned",
                                                            "is_set_to",
                                                            "item",
                                                            "mH",
                                                            "mT",
                                                            "matrix_H",
                                                            "new_empty",
                                                            "new_empty_strided",
                                                            "new_full",
                                                            "new_ones",
                                                            "new_zeros",
                                                            "numpy_T",
                                                            "pin_memory",
                                                            "repeat",
                                                            "reshape_as",
                                                            "row_indices",
                                                            "sparse_dim",
                                                            "sparse_mask",
                                                            "sum_to_size",
                                                            "to",
                                                            "to_dense",
                                                            "to_mkldnn",
                                                            "to_padded_tensor",
                                                            "to_sparse",
                                                            "type_as",
                                                            "unfold",
                                                            "values",
                                                            "view",
                                                            "view_as"};
  return kNames;
}

/// Names that end in "_" and are functions of lists, or of a tensor that they take as no method
/// does: those of a single tensor are called by their schema.
bool is_list_function(std::string_view name) {
  return name.starts_with("_foreach_") || name.starts_with("_fused_");
}

bool is_odd_in_place(std::string_view name) {
  static const std::set<std::string, std::less<>> kNames = {"_add_relu_",
                                                            "_amp_update_scale_",
                                                            "_fill_mem_eff_dropout_mask_",
                                                            "_index_put_impl_",
                                                            "_mkldnn_transpose_",
                                                            "_resize_output_",
                                                            "_sobol_engine_ff_",
                                                            "_sobol_engine_initialize_state_",
                                                            "_sobol_engine_scramble_",
                                                            "alpha_dropout_",
                                                            "celu_",
                                                            "copy_sparse_to_sparse_",
                                                            "dropout_",
                                                            "elu_",
                                                            "embedding_renorm_",
                                                            "feature_alpha_dropout_",
                                                            "feature_dropout_",
                                                            "gelu_",
                                                            "hardsigmoid_",
                                                            "hardswish_",
                                                            "hardtanh_",
                                                            "leaky_relu_",
                                                            "mish_",
                                                            "relu6_",
                                                            "rrelu_",
                                                            "rrelu_with_noise_",
                                                            "selu_",
                                                            "silu_",
                                                            "threshold_"};
  return kNames.contains(name);
}

/// Operators of which the C++ interface has no function of the schema's form.
bool has_no_function(std::string_view name) {
  static const std::set<std::string, std::less<>> kNames = {"_is_zerotensor",
                                                            "_version",
                                                            "conj",
                                                            "data",
                                                            "is_complex",
                                                            "is_conj",
                                                            "is_floating_point",
                                                            "is_inference",
                                                            "is_leaf",
                                                            "is_neg",
                                                            "is_signed",
                                                            "output_nr",
                                                            "requires_grad_",
                                                            "retain_grad",
                                                            "retains_grad",
                                                            "set_data",
                                                            "_backward",
                                                            "_fw_primal",
                                                            "_sparse_mask_projection"};
  return kNames.contains(name);
}

/// The four arguments that at::TensorOptions stands for, from `at`.
bool is_options(const std::vector<SchemaArgument>& arguments, std::size_t at) {
  return at + 3 < arguments.size() && arguments[at].name == "dtype" &&
         arguments[at + 1].name == "layout" && arguments[at + 2].name == "device" &&
         arguments[at + 3].name == "pin_memory";
}

bool is_nothing(const Argument& argument) {
  return std::holds_alternative<Argument::None>(argument.value) ||
         std::holds_alternative<Argument::Undefined>(argument.value);
}

ResultShape shape_of(std::string_view returns) {
  if (returns.empty() || returns == "()") {
    return ResultShape::kNothing;
  }
  if (returns.front() == '(') {
    const bool has_list = returns.find("[]") != std::string_view::npos;
    const bool all_tensors = [&] {
      std::size_t begin = 1;
      int depth = 0;
      for (std::size_t i = 1; i < returns.size(); ++i) {
        depth += returns[i] == '(' ? 1 : 0;
        const bool ends = depth == 0 && (returns[i] == ',' || returns[i] == ')');
        depth -= returns[i] == ')' && depth > 0 ? 1 : 0;
        if (!ends) {
          continue;
        }
        std::string_view piece = returns.substr(begin, i - begin);
        piece.remove_prefix(std::min(piece.find_first_not_of(' '), piece.size()));
        if (!piece.starts_with("Tensor")) {
          return false;
        }
        begin = i + 1;
      }
      return true;
    }();
    return has_list || !all_tensors ? ResultShape::kBoxed : ResultShape::kTuple;
  }
  if (!returns.starts_with("Tensor")) {
    return ResultShape::kNothing;  // a number: nothing reads it
  }
  return returns.ends_with("[]") ? ResultShape::kTensors : ResultShape::kTensor;
}

bool writes_out(const std::vector<SchemaArgument>& arguments) {
  return std::any_of(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end(),
                     [](const SchemaArgument& argument) {
                       return argument.type.find('!') != std::string_view::npos &&
                              argument.type.find("[]") == std::string_view::npos;
                     });
}

}  // namespace

CallWriter::CallWriter(const et_schema::Program& program, Dialect dialect, bool typed,
                       DeviceText devices, BoxedOperators& boxed)
    : program_(program), dialect_(dialect), typed_(typed), devices_(devices), boxed_(boxed) {}

/// As they were, but for epsilons that the trace's six decimals lost.
std::vector<Argument> CallWriter::arguments_of(const Instruction& instruction) const {
  std::vector<Argument> arguments = instruction.args;
  const auto schema = et_schema::arguments_of(program_.schemas[*instruction.schema]);
  for (std::size_t i = 0; i < std::min(arguments.size(), schema.size()); ++i) {
    const auto* real = std::get_if<double>(&arguments[i].value);
    if (real == nullptr) {
      continue;
    }
    if (const auto epsilon = et_schema::lost_epsilon(instruction.name, schema[i].name,
                                                     schema[i].default_value, *real)) {
      arguments[i].value = *epsilon;
    }
  }
  return arguments;
}

CallText CallWriter::write(const Instruction& instruction, const NextTensor& next) {
  if (!instruction.schema) {
    throw CannotShow{"the trace holds no schema of it"};
  }
  const std::string& schema = program_.schemas[*instruction.schema];
  CallText text;
  text.shape = shape_of(et_schema::returns_of(schema));
  if (dialect_ == Dialect::kPython) {
    text.shape = text.shape == ResultShape::kBoxed ? ResultShape::kTuple : text.shape;
    text.expression = python_call(instruction, schema, next);
    return text;
  }
  std::string_view name = instruction.name;
  const bool is_aten = name.starts_with("aten::");
  name = is_aten ? name.substr(6) : name;
  name = name.substr(0, name.find('.'));
  const auto arguments = et_schema::arguments_of(schema);
  const bool is_typed = typed_ && is_aten && text.shape != ResultShape::kBoxed &&
                        !has_no_function(name) && !is_odd_in_place(name) &&
                        !instruction.name.ends_with(".vec") &&  // sizes as a list fit two functions
                        (!writes_out(arguments) || is_list_function(name)) &&
                        instruction.args.size() == arguments.size();
  if (is_typed) {
    text.expression = typed_call(instruction, std::string(name), next);
    return text;
  }
  text.is_boxed = true;
  text.shape = text.shape == ResultShape::kNothing ? text.shape : ResultShape::kBoxed;
  text.expression = boxed_call(instruction, schema, next);
  return text;
}

std::string CallWriter::typed_call(const Instruction& instruction, const std::string& name,
                                   const NextTensor& next) const {
  const auto schema = et_schema::arguments_of(program_.schemas[*instruction.schema]);
  const std::vector<Argument> recorded = arguments_of(instruction);
  const ArgumentStyle style{Dialect::kTyped, devices_, is_list_function(name)};
  // Behind the last argument that is not its default nothing is written.
  std::size_t count = schema.size();
  while (count > 0 && is_default(recorded[count - 1], schema[count - 1].default_value)) {
    --count;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!is_options(schema, i)) {
      if (i < count) {
        texts.push_back(argument_text(recorded[i], schema[i].type, style, next));
      }
      continue;
    }
    std::string options;
    const auto add = [&](std::size_t at, std::string_view setter) {
      if (!is_nothing(recorded[at])) {
        options += fmt::format(".{}({})", setter,
                               argument_text(recorded[at], schema[at].type, style, next));
      }
    };
    add(i, "dtype");
    add(i + 1, "layout");
    add(i + 2, "device");
    if (!options.empty() || count > i + 4) {
      texts.push_back("at::TensorOptions()" + options);
    }
    i += 3;
  }
  const bool is_method =
      methods().contains(name) || (name.ends_with('_') && !is_list_function(name));
  if (!is_method) {
    return fmt::format("at::{}({})", name, fmt::join(texts, ", "));
  }
  if (texts.empty()) {
    throw CannotShow{"a method without the tensor that it is called on"};
  }
  const std::string self = texts.front();
  texts.erase(texts.begin());
  return fmt::format("{}.{}({})", self, name, fmt::join(texts, ", "));
}

std::string CallWriter::boxed_call(const Instruction& instruction, const std::string& schema,
                                   const NextTensor& next) {
  const std::string base = "op_" + identifier(instruction.name);
  std::string object = base;
  for (int number = 2; boxed_.contains(object) && boxed_.at(object) != schema; ++number) {
    object = fmt::format("{}_{}", base, number);
  }
  const auto arguments = et_schema::arguments_of(schema);
  const std::vector<Argument> recorded = arguments_of(instruction);
  const ArgumentStyle style{Dialect::kBoxed, devices_, false};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const std::string_view type = i < arguments.size() ? arguments[i].type : "";
    const bool pins = i < arguments.size() && arguments[i].name == "pin_memory";
    texts.push_back(pins ? "false" : argument_text(recorded[i], type, style, next));
  }
  boxed_[object] = schema;
  return fmt::format("{}({})", object, fmt::join(texts, ", "));
}

std::string CallWriter::python_call(const Instruction& instruction, const std::string& schema,
                                    const NextTensor& next) const {
  const auto arguments = et_schema::arguments_of(schema);
  const std::vector<Argument> recorded = arguments_of(instruction);
  const ArgumentStyle style{Dialect::kPython, devices_, false};
  // Behind "*" arguments are given by name.
  const std::size_t star = [&] {
    const std::size_t at = schema.find("*,");
    if (at == std::string::npos) {
      return arguments.size();
    }
    return static_cast<std::size_t>(std::count_if(
        arguments.begin(), arguments.end(),
        [&](const SchemaArgument& argument) { return argument.name.data() < schema.data() + at; }));
  }();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const std::string_view type = i < arguments.size() ? arguments[i].type : "";
    std::string text = argument_text(recorded[i], type, style, next);
    const bool is_left_out = i >= star && is_default(recorded[i], arguments[i].default_value);
    if (!is_left_out) {
      texts.push_back(i >= star ? fmt::format("{}={}", arguments[i].name, text) : text);
    }
  }
  const std::size_t space = instruction.name.find("::");
  std::string path = instruction.name.substr(0, space) + "." + instruction.name.substr(space + 2);
  path += path.find('.', space + 1) == std::string::npos ? ".default" : "";
  return fmt::format("ops.{}({})", path, fmt::join(texts, ", "));
}

}  // namespace understudy::emitter
