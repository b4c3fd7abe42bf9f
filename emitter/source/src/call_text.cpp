#include "call_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "et_schema/model/public_operators.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/unrecorded.h"
#include "et_schema/support/words.h"
#include "foreign_text.h"
#include "showing.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::SchemaArgument;

/// LibTorch's operators without a function at::NAME, that are methods of a tensor (torch 2.11's
/// headers). Names that end in "_" are methods, too, but for list functions and odd ones.
constexpr std::string_view kMethods =
    "_coalesced _dimI _dimV _indices _nested_tensor_size _nnz _to_dense _to_sparse _values "
    "align_as align_to ccol_indices coalesce col_indices contiguous crow_indices dense_dim expand "
    "expand_as indices is_coalesced is_pinned is_set_to item mH mT matrix_H new_empty "
    "new_empty_strided new_full new_ones new_zeros numpy_T pin_memory repeat reshape_as "
    "row_indices sparse_dim sparse_mask sum_to_size to to_dense to_mkldnn to_padded_tensor "
    "to_sparse type_as unfold values view view_as";

/// Functions of lists, though their names end in "_".
bool is_list_function(std::string_view name) {
  return name.starts_with("_foreach_") || name.starts_with("_fused_");
}

/// Functions of one tensor, though their names end in "_": they are called by their schema.
bool is_odd_in_place(std::string_view name) {
  constexpr std::string_view kNames =
      "_add_relu_ _amp_update_scale_ _fill_mem_eff_dropout_mask_ _index_put_impl_ "
      "_mkldnn_transpose_ _resize_output_ _sobol_engine_ff_ _sobol_engine_initialize_state_ "
      "_sobol_engine_scramble_ alpha_dropout_ celu_ copy_sparse_to_sparse_ dropout_ elu_ "
      "embedding_renorm_ feature_alpha_dropout_ feature_dropout_ gelu_ hardsigmoid_ hardswish_ "
      "hardtanh_ leaky_relu_ mish_ relu6_ rrelu_ rrelu_with_noise_ selu_ silu_ threshold_";
  return et_schema::has_word(kNames, name);
}

/// Operators of which the C++ interface has no function of the schema's form.
bool has_no_function(std::string_view name) {
  constexpr std::string_view kNames =
      "_is_zerotensor _version conj data is_complex is_conj is_floating_point is_inference is_leaf "
      "is_neg is_signed output_nr requires_grad_ retain_grad retains_grad set_data _backward "
      "_fw_primal _sparse_mask_projection";
  return et_schema::has_word(kNames, name);
}

/// The four arguments that at::TensorOptions stands for, from `at`.
bool is_options(const std::vector<SchemaArgument>& arguments, std::size_t at) {
  return at + 3 < arguments.size() && arguments[at].name == "dtype" &&
         arguments[at + 1].name == "layout" && arguments[at + 2].name == "device" &&
         arguments[at + 3].name == "pin_memory";
}

bool is_list(std::string_view type) {
  return type.ends_with(']');
}

ResultShape shape_of(const std::vector<std::string>& returns) {
  const auto is_tensor = [](std::string_view type) { return type.starts_with("Tensor"); };
  if (returns.size() > 1) {
    const bool is_tuple = std::all_of(returns.begin(), returns.end(), is_tensor) &&
                          std::none_of(returns.begin(), returns.end(), is_list);
    return is_tuple ? ResultShape::kTuple : ResultShape::kBoxed;
  }
  if (returns.empty() || !is_tensor(returns.front())) {
    return ResultShape::kNothing;  // a number: nothing reads it
  }
  return is_list(returns.front()) ? ResultShape::kTensors : ResultShape::kTensor;
}

bool writes_out(const std::vector<SchemaArgument>& arguments) {
  return std::any_of(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end(),
                     [](const SchemaArgument& argument) {
                       return argument.type.find('!') != std::string_view::npos;
                     });
}

/// As they were, but for epsilons that the trace's six decimals lost.
std::vector<Argument> arguments_of(const Instruction& instruction, const Callable& callable) {
  std::vector<Argument> arguments = instruction.args;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* real = std::get_if<double>(&arguments[i].value);
    if (real == nullptr) {
      continue;
    }
    const SchemaArgument& argument = callable.arguments[i];
    if (const auto epsilon = et_schema::lost_epsilon(instruction.name, argument.name,
                                                     argument.default_value, *real)) {
      arguments[i].value = *epsilon;
    }
  }
  return arguments;
}

}  // namespace

CallText CallWriter::write(const Instruction& instruction, const NextTensor& next,
                           const Vectors& vectors) {
  const Callable callable = read_callable(program_, instruction);
  const std::vector<Argument> arguments = arguments_of(instruction, callable);
  CallText text;
  text.shape = shape_of(callable.returns);
  if (dialect_ == Dialect::kPython) {
    text.shape = text.shape == ResultShape::kBoxed ? ResultShape::kTuple : text.shape;
    text.expression = python_call(callable, arguments, next, vectors);
    return text;
  }
  const std::string_view name = callable.name;
  const bool is_typed =
      callable.space == "aten" &&
      et_schema::is_public_schema(program_.schemas[*instruction.schema]) &&
      text.shape != ResultShape::kBoxed && !has_no_function(name) && !is_odd_in_place(name) &&
      callable.overload != "vec" &&  // sizes as a list fit two functions
      (!writes_out(callable.arguments) || is_list_function(name)) &&
      arguments.size() == callable.arguments.size() &&
      (text.shape != ResultShape::kTuple || instruction.results.size() == callable.returns.size());
  if (is_typed) {
    text.expression = typed_call(callable, arguments, next, vectors);
    return text;
  }
  text.is_boxed = true;
  text.shape = text.shape == ResultShape::kNothing ? text.shape : ResultShape::kBoxed;
  text.expression = boxed_call(callable, arguments, next, vectors);
  return text;
}

std::string CallWriter::typed_call(const Callable& callable, const std::vector<Argument>& recorded,
                                   const NextTensor& next, const Vectors& vectors) {
  const std::string name(callable.name);
  const std::vector<SchemaArgument>& schema = callable.arguments;
  const ArgumentStyle style{Dialect::kTyped, devices_, is_list_function(name), &vectors};
  // Nothing is written behind the last argument that is not its default.
  std::size_t count = schema.size();
  while (count > 0 && is_default(recorded[count - 1], schema[count - 1].default_value)) {
    --count;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!is_options(schema, i)) {
      if (i < count) {
        texts.push_back(argument_text(recorded[i], schema[i].type, style, next));
        calls_.has_optional_lists =
            calls_.has_optional_lists || schema[i].type.starts_with("Tensor?[");
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
      et_schema::has_word(kMethods, name) || (name.ends_with('_') && !is_list_function(name));
  if (!is_method) {
    calls_.functions.insert(name);
    return fmt::format("at::{}({})", name, fmt::join(texts, ", "));
  }
  if (texts.empty()) {
    throw CannotShow{"a method without the tensor that it is called on"};
  }
  const std::string self = texts.front();
  texts.erase(texts.begin());
  return fmt::format("{}.{}({})", self, name, fmt::join(texts, ", "));
}

std::string CallWriter::object_of(const Callable& callable) {
  const std::string schema = schema_of(callable);
  const std::string base = identifier(schema.substr(0, schema.find('(')));
  std::string object = base;
  for (int number = 2; calls_.named.contains(object) && calls_.named.at(object).schema != schema;
       ++number) {
    object = fmt::format("{}_{}", base, number);
  }
  const auto [named, is_new] = calls_.named.try_emplace(object);
  if (is_new) {
    named->second.schema = schema;
    named->second.positional = callable.positional;
    if (const auto call = row_for(schema, dialect_)) {
      calls_.has_rows = true;
      named->second.row = call->row->source();
      for (const std::optional<std::size_t>& argument : call->arguments) {
        named->second.row_arguments.push_back(argument ? static_cast<int>(*argument) : -1);
      }
    }
  }
  return object;
}

std::string CallWriter::boxed_call(const Callable& callable, const std::vector<Argument>& recorded,
                                   const NextTensor& next, const Vectors& vectors) {
  const std::string object = object_of(callable);
  const ArgumentStyle style{Dialect::kBoxed, devices_, false, &vectors};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const SchemaArgument& argument = callable.arguments[i];
    texts.push_back(argument.name == "pin_memory"
                        ? "false"
                        : argument_text(recorded[i], argument.type, style, next));
  }
  calls_.has_fbgemm = calls_.has_fbgemm || callable.space == "fbgemm";
  return fmt::format("op::{}({})", object, fmt::join(texts, ", "));
}

std::string CallWriter::python_call(const Callable& callable, const std::vector<Argument>& recorded,
                                    const NextTensor& next, const Vectors& vectors) {
  const ArgumentStyle style{Dialect::kPython, devices_, false, &vectors};
  const bool by_row = row_for(schema_of(callable), dialect_).has_value();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const SchemaArgument& argument = callable.arguments[i];
    const std::string text = argument_text(recorded[i], argument.type, style, next);
    // Behind "*" arguments are given by name.
    if (by_row || i < callable.positional) {
      texts.push_back(text);
    } else if (!is_default(recorded[i], argument.default_value)) {
      texts.push_back(is_python_word(argument.name)
                          ? fmt::format("**{{\"{}\": {}}}", argument.name, text)
                          : fmt::format("{}={}", argument.name, text));
    }
  }
  if (by_row) {
    return fmt::format("Named.{}({})", object_of(callable), fmt::join(texts, ", "));
  }
  std::string path = "ops";
  for (const std::string_view part :
       {callable.space, callable.name,
        callable.overload.empty() ? std::string_view("default") : callable.overload}) {
    path = is_python_word(part) ? fmt::format("getattr({}, \"{}\")", path, part)
                                : fmt::format("{}.{}", path, part);
  }
  return fmt::format("{}({})", path, fmt::join(texts, ", "));
}

}  // namespace understudy::emitter
