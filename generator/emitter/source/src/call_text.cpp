#include "call_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "bodies.h"
#include "et_schema/base/words.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/unrecorded.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::SchemaArgument;

[[noreturn]] void refuse(const std::string& what) {
  throw CannotShow{"its schema cannot be called: " + what};
}

std::vector<std::string> read_returns(std::string_view returns) {
  const bool is_list = returns.starts_with('(') && returns.ends_with(')');
  std::string text = plain_type(is_list ? returns.substr(1, returns.size() - 2) : returns);
  std::vector<std::string> types;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    types.push_back(text.substr(0, std::min(comma, text.find(' '))));
    text.erase(0, comma + 2);
  }
  return types;
}

/// Throws CannotShow if the schema has no tensor where a recorded result is one.
void check_results(const std::vector<std::string>& returns, const Instruction& instruction) {
  for (std::size_t i = 0; i < instruction.results.size(); ++i) {
    if (et_schema::slots_in({instruction.results[i]}).empty()) {
      continue;
    }
    const std::string type = i < returns.size() ? returns[i] : "";
    const bool is_list = std::holds_alternative<Argument::List>(instruction.results[i].value);
    if (!type.starts_with("Tensor") || is_list != type.ends_with(']')) {
      refuse(fmt::format("it gives {} where the trace has {}",
                         type.empty() ? "nothing" : text_literal(type),
                         is_list ? "a list of tensors" : "a tensor"));
    }
  }
}

/// Returns the recorded argument, with the epsilon restored that the trace's six decimals lost.
Argument whole(const Argument& recorded, const Instruction& instruction,
               const SchemaArgument& argument) {
  const auto* real = std::get_if<double>(&recorded.value);
  const auto epsilon = real == nullptr ? std::nullopt
                                       : et_schema::lost_epsilon(instruction.name, argument.name,
                                                                 argument.default_value, *real);
  return epsilon ? Argument{*epsilon} : recorded;
}

/// Returns "a.b"; a keyword of Python is no attribute.
std::string attribute(const std::string& object, std::string_view name) {
  return is_python_word(name) ? fmt::format("getattr({}, \"{}\")", object, name)
                              : fmt::format("{}.{}", object, name);
}

/// Returns true for names that a step's file gives to something else than a namespace.
bool is_taken(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  return is_python_word(name) || et_schema::has_word("bench device getattr step torch", name) ||
         (digits < name.size() && et_schema::has_word("given t work", name.substr(0, digits)));
}

}  // namespace

struct CallWriter::Callable {
  std::string_view schema;
  std::string_view space;                 ///< "aten"
  std::string_view name;                  ///< "add"
  std::string_view overload;              ///< "Tensor"; empty: the default one
  std::vector<SchemaArgument> arguments;  ///< at least as many as were recorded
  std::size_t positional = 0;             ///< number of arguments before "*"
};

CallWriter::Callable CallWriter::read_callable(const Instruction& instruction) const {
  if (!instruction.schema) {
    throw CannotShow{"the trace holds no schema of it"};
  }
  const std::string_view schema = program_.schemas[*instruction.schema];
  const std::string_view name = et_schema::operator_name(schema);
  const std::size_t colons = name.find("::");
  Callable callable = {schema, colons == std::string_view::npos ? "" : name.substr(0, colons),
                       et_schema::without_namespace(name), et_schema::overload_of(name),
                       et_schema::arguments_of(schema)};
  if (!is_name(callable.space) || !is_name(callable.name) ||
      (!callable.overload.empty() ? !is_name(callable.overload) : name.ends_with('.'))) {
    refuse(fmt::format("{} is no operator's name", text_literal(name)));
  }
  if (instruction.args.size() > callable.arguments.size()) {
    refuse(fmt::format("it takes {} arguments, the trace has {}", callable.arguments.size(),
                       instruction.args.size()));
  }
  const std::size_t star = schema.find("*,");
  callable.positional = static_cast<std::size_t>(std::count_if(
      callable.arguments.begin(), callable.arguments.end(), [&](const SchemaArgument& argument) {
        return star == std::string_view::npos || argument.name.data() < schema.data() + star;
      }));
  return callable;
}

std::string CallWriter::declare(const Callable& callable) {
  const std::string name = fmt::format("{}::{}{}{}", callable.space, callable.name,
                                       callable.overload.empty() ? "" : ".", callable.overload);
  if (const auto call = row_for(callable.schema)) {
    std::vector<std::string> names;
    for (const SchemaArgument& argument : callable.arguments) {
      names.push_back(text_literal(argument.name));
    }
    std::vector<std::string> takes;
    for (const std::optional<std::size_t>& argument : call->arguments) {
      takes.push_back(argument ? names[*argument] : "None");
    }
    const std::string row =
        bench_text("row", {text_literal(name), list_text(names), list_text(takes),
                           text_literal(call->row->source())});
    if (rows_.try_emplace(name, row).first->second != row) {
      refuse("another call of this operator has another schema");
    }
  }
  operators_.insert(name);
  const auto [space, is_new] = spaces_.try_emplace(std::string(callable.space), callable.space);
  const auto is_used = [&](const std::string& variable) {
    return is_taken(variable) || std::ranges::count(spaces_, variable, [](const auto& other) {
                                   return other.second;
                                 }) > 1;
  };
  while (is_new && is_used(space->second)) {
    space->second += "_";
  }
  return attribute(attribute(space->second, callable.name),
                   callable.overload.empty() ? "default" : callable.overload);
}

CallText CallWriter::write(const Instruction& instruction, const Variables& variables) {
  const Callable callable = read_callable(instruction);
  CallText call = {"", read_returns(et_schema::returns_of(callable.schema))};
  check_results(call.returns, instruction);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    const SchemaArgument& argument = callable.arguments[i];
    const Argument recorded = whole(instruction.args[i], instruction, argument);
    std::string text = argument_text(recorded, argument.type, devices_, variables);
    if (i < callable.positional) {
      texts.push_back(std::move(text));
    } else if (!is_name(argument.name)) {
      refuse(fmt::format("{} is no argument's name", text_literal(argument.name)));
    } else if (text != "None" || argument.default_value != "None") {
      texts.push_back(is_python_word(argument.name)
                          ? fmt::format("**{{\"{}\": {}}}", argument.name, text)
                          : fmt::format("{}={}", argument.name, text));
    }
  }
  call.expression = fmt::format("{}({})", declare(callable), fmt::join(texts, ", "));
  return call;
}

std::string CallWriter::declarations() const {
  std::string text;
  for (const auto& [name, row] : rows_) {
    text += row + "\n";
  }
  std::vector<std::string> variables;
  for (const auto& [space, variable] : spaces_) {
    variables.push_back(variable);
  }
  std::vector<std::string> names;
  for (const std::string& name : operators_) {
    names.push_back(fmt::format("    \"{}\",\n", name));
  }
  if (devices_.has_accelerator) {
    names.emplace_back("    places=[\"cpu\"],\n");
  }
  return fmt::format("{}[{}] = bench.operators(\n{})\n", text, fmt::join(variables, ", "),
                     fmt::join(names, ""));
}

}  // namespace understudy::emitter
