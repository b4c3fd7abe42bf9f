#include "call_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <variant>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/unrecorded.h"
#include "foreign_text.h"
#include "showing.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::SchemaArgument;

ResultShape shape_of(const std::vector<std::string>& returns) {
  if (returns.size() > 1) {
    return ResultShape::kTuple;
  }
  if (returns.empty() || !returns.front().starts_with("Tensor")) {
    return ResultShape::kNothing;  // a number, which nothing reads
  }
  return returns.front().ends_with(']') ? ResultShape::kTensors : ResultShape::kTensor;
}

/// Returns the recorded arguments, with epsilons restored that the trace's six decimals lost.
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
  return {call_text(callable, arguments, next, vectors), shape_of(callable.returns)};
}

std::string CallWriter::object_of(const Callable& callable) {
  const std::string schema = schema_of(callable);
  std::string word(callable.name);
  word += word.ends_with('_') ? "in_place" : "";
  const std::string base =
      identifier(fmt::format("{}::{}.{}", callable.space, word, callable.overload));
  std::string object = base;
  for (int number = 2; calls_.contains(object) && calls_.at(object).schema != schema; ++number) {
    object = fmt::format("{}_{}", base, number);
  }
  const auto [named, is_new] = calls_.try_emplace(object);
  if (is_new) {
    named->second.schema = schema;
    named->second.positional = callable.positional;
    if (const auto call = row_for(schema)) {
      named->second.row = call->row->source();
      for (const std::optional<std::size_t>& argument : call->arguments) {
        named->second.row_arguments.push_back(argument ? static_cast<int>(*argument) : -1);
      }
    }
  }
  return object;
}

std::string CallWriter::call_text(const Callable& callable, const std::vector<Argument>& recorded,
                                  const NextTensor& next, const Vectors& vectors) {
  const ArgumentStyle style{devices_, &vectors};
  const bool by_row = row_for(schema_of(callable)).has_value();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const SchemaArgument& argument = callable.arguments[i];
    const std::string text = argument_text(recorded[i], argument.type, style, next);
    // Arguments after "*" are passed by name.
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
  return fmt::format("ops[\"{}::{}{}{}\"]({})", callable.space, callable.name,
                     callable.overload.empty() ? "" : ".", callable.overload,
                     fmt::join(texts, ", "));
}

}  // namespace understudy::emitter
