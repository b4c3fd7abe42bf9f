#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <variant>

#include "argument_text.h"
#include "call_text.h"
#include "et_schema/base/words.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::SchemaArgument;

bool is_size(std::string_view text) {
  std::size_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, size);
  constexpr std::size_t kMost = 64;
  return text.empty() || (error == std::errc() && read == end && size <= kMost);
}

/// Returns true for types that LibTorch's parser knows, except for classes.
bool is_type(std::string_view type) {
  constexpr std::string_view kBases =
      "Any AnyEnumType Device DeviceObjType Dimname Future Generator Layout MemoryFormat QScheme "
      "Scalar ScalarType Storage Stream SymBool SymInt Tensor bool complex float int number str";
  while (true) {
    if (type.ends_with('?')) {
      type.remove_suffix(1);
    } else if (type.ends_with(']')) {
      const std::size_t open = type.rfind('[');
      if (open == std::string_view::npos ||
          !is_size(type.substr(open + 1, type.size() - open - 2))) {
        return false;
      }
      type = type.substr(0, open);
    } else {
      return et_schema::has_word(kBases, type);
    }
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw CannotShow{"its schema cannot be called: " + what};
}

void read_name(std::string_view name, Callable& callable) {
  const std::size_t colons = name.find("::");
  const std::size_t dot = name.find('.', colons == std::string_view::npos ? 0 : colons);
  if (colons != std::string_view::npos) {
    callable.space = name.substr(0, colons);
    callable.name = name.substr(colons + 2, dot == std::string_view::npos ? dot : dot - colons - 2);
    callable.overload = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  }
  if (!is_name(callable.space) || !is_name(callable.name) ||
      (dot != std::string_view::npos && !is_name(callable.overload))) {
    refuse(fmt::format("{} is no operator's name", text_literal(name)));
  }
}

void check_arguments(const Callable& callable) {
  std::set<std::string_view> names;
  for (const SchemaArgument& argument : callable.arguments) {
    if (!is_name(argument.name) || !names.insert(argument.name).second) {
      refuse(fmt::format("{} is no argument's name", text_literal(argument.name)));
    }
    if (!is_type(plain_type(argument.type))) {
      refuse(fmt::format("{} is no type of an argument", text_literal(argument.type)));
    }
  }
}

std::vector<std::string> read_returns(std::string_view returns) {
  const bool is_list = returns.starts_with('(') && returns.ends_with(')');
  std::string text = plain_type(is_list ? returns.substr(1, returns.size() - 2) : returns);
  std::vector<std::string> types;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    std::string piece = text.substr(0, comma);
    text.erase(0, comma + 2);
    const std::size_t space = piece.find(' ');
    const std::string name = space == std::string::npos ? "" : piece.substr(space + 1);
    piece.resize(std::min(space, piece.size()));
    if (!is_type(piece) || (!name.empty() && !is_name(name))) {
      refuse(fmt::format("{} is no type of a result", text_literal(piece)));
    }
    types.push_back(piece);
  }
  return types;
}

/// Throws CannotShow if the schema has no tensor where a recorded result is one.
void check_results(const Callable& callable, const Instruction& instruction) {
  for (std::size_t i = 0; i < instruction.results.size(); ++i) {
    bool has_tensors = false;
    et_schema::for_each_slot({instruction.results[i]}, [&](auto) { has_tensors = true; });
    if (!has_tensors) {
      continue;
    }
    const std::string type = i < callable.returns.size() ? callable.returns[i] : "";
    const bool is_list = std::holds_alternative<Argument::List>(instruction.results[i].value);
    if (!type.starts_with("Tensor") || is_list != type.ends_with(']')) {
      refuse(fmt::format("it gives {} where the trace has {}",
                         type.empty() ? "nothing" : text_literal(type),
                         is_list ? "a list of tensors" : "a tensor"));
    }
  }
}

}  // namespace

std::string plain_type(std::string_view type) {
  std::string text;
  int depth = 0;
  for (const char c : type) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0 && c != '!') {  // the operator map's mark of written arguments
      text += c;
    }
    depth -= c == ')' ? 1 : 0;
  }
  return text;
}

Callable read_callable(const et_schema::Program& program, const Instruction& instruction) {
  if (!instruction.schema) {
    throw CannotShow{"the trace holds no schema of it"};
  }
  const std::string_view schema = program.schemas[*instruction.schema];
  Callable callable;
  read_name(et_schema::operator_name(schema), callable);
  callable.arguments = et_schema::arguments_of(schema);
  check_arguments(callable);
  callable.returns = read_returns(et_schema::returns_of(schema));
  if (instruction.args.size() > callable.arguments.size()) {
    refuse(fmt::format("it takes {} arguments, the trace has {}", callable.arguments.size(),
                       instruction.args.size()));
  }
  check_results(callable, instruction);
  const std::size_t star = schema.find("*,");
  callable.positional = static_cast<std::size_t>(std::count_if(
      callable.arguments.begin(), callable.arguments.end(), [&](const SchemaArgument& argument) {
        return star == std::string_view::npos || argument.name.data() < schema.data() + star;
      }));
  return callable;
}

std::string schema_of(const Callable& callable) {
  std::vector<std::string> arguments;
  for (const SchemaArgument& argument : callable.arguments) {
    arguments.push_back(fmt::format("{} {}", plain_type(argument.type), argument.name));
  }
  const std::string returns = fmt::format("{}", fmt::join(callable.returns, ", "));
  return fmt::format("{}::{}{}{}({}) -> {}", callable.space, callable.name,
                     callable.overload.empty() ? "" : ".", callable.overload,
                     fmt::join(arguments, ", "),
                     callable.returns.size() == 1 ? returns : "(" + returns + ")");
}

}  // namespace understudy::emitter
