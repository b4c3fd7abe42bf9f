#include "et_schema/facts/schema_text.h"

#include <algorithm>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// "int[1]? dim=None" → "dim"; "*" → "".
std::string_view name_of(std::string_view argument) {
  std::size_t end = argument.size();
  int depth = 0;
  for (std::size_t i = 0; i < argument.size(); ++i) {
    const char c = argument[i];
    depth += (c == '(' || c == '[') ? 1 : 0;
    depth -= (c == ')' || c == ']') ? 1 : 0;
    if (c == '=' && depth == 0) {
      end = i;
      break;
    }
  }
  std::size_t begin = end;
  while (begin > 0 && is_name_character(argument[begin - 1])) {
    --begin;
  }
  return argument.substr(begin, end - begin);
}

/// Calls `visit` with the text of each argument ("Tensor(a!) self", "int[1]? dim=None") and its
/// name, until `visit` returns false. Skips a bare "*".
template <typename Visit>
void for_each_argument(std::string_view schema, const Visit& visit) {
  const std::size_t open = schema.find('(');
  if (open == std::string_view::npos) {
    return;
  }
  int depth = 0;
  bool quoted = false;
  std::size_t begin = open + 1;
  const auto wants_more = [&](std::size_t end) {
    const std::string_view text = schema.substr(begin, end - begin);
    const std::string_view name = name_of(text);
    begin = end + 1;
    return name.empty() || visit(text, name);
  };
  for (std::size_t i = open + 1; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '"' || c == '\'') {
      quoted = !quoted;
    }
    if (quoted) {
      continue;
    }
    const bool is_last = c == ')' && depth == 0;
    if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ']' || (c == ')' && depth > 0)) {
      --depth;
    } else if ((is_last || (c == ',' && depth == 0)) && (!wants_more(i) || is_last)) {
      return;
    }
  }
}

}  // namespace

std::string_view operator_name(std::string_view schema) {
  return schema.substr(0, schema.find('('));
}

std::vector<SchemaArgument> arguments_of(std::string_view schema) {
  std::vector<SchemaArgument> arguments;
  for_each_argument(schema, [&](std::string_view text, std::string_view name) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    SchemaArgument argument;
    argument.name = name;
    const auto at = static_cast<std::size_t>(argument.name.data() - text.data());
    argument.type = text.substr(0, at);
    argument.type = argument.type.substr(0, argument.type.find_last_not_of(' ') + 1);
    const std::string_view rest = text.substr(at + argument.name.size());
    argument.default_value = rest.starts_with('=') ? rest.substr(1) : std::string_view();
    arguments.push_back(argument);
    return true;
  });
  return arguments;
}

SchemaType type_of(std::string_view type) {
  SchemaType read;
  const std::string_view base = type.substr(0, type.find_first_of("([?!"));
  read.base = base == "SymInt"     ? "int"
              : base == "SymFloat" ? "float"
              : base == "SymBool"  ? "bool"
                                   : base;
  read.is_list = type.find('[') != std::string_view::npos;
  read.is_optional = type.ends_with('?');
  read.has_optional_items = type.find("?[") != std::string_view::npos;
  read.has_lists = type.ends_with("[][]");
  return read;
}

std::string_view returns_of(std::string_view schema) {
  const std::size_t arrow = schema.rfind("->");
  const std::string_view text = arrow == std::string_view::npos ? "" : schema.substr(arrow + 2);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::string readable_schema(std::string_view schema) {
  constexpr std::string_view kEnd = "! -> )";
  constexpr std::ptrdiff_t kMostBrackets = 1000;
  if (std::ranges::count_if(schema, [](char c) { return c == '(' || c == '['; }) > kMostBrackets) {
    throw bad_input("an operator's schema cannot be read",
                    {.field = "schema",
                     .expected = "at most 1000 brackets",
                     .got = "more: " + quote(schema),
                     .hint = "the trace is damaged, or made up"});
  }
  std::string text;
  for (std::size_t begin = schema.find("($"); begin != std::string_view::npos;
       begin = schema.find("($")) {
    const std::size_t end = schema.find_first_not_of("0123456789", begin + 2);
    const bool is_mark = end != std::string_view::npos && schema.substr(end).starts_with(kEnd);
    text += schema.substr(0, begin);
    text += is_mark ? "!" : "($";
    schema.remove_prefix(is_mark ? end + kEnd.size() : begin + 2);
  }
  return text.append(schema);
}

std::vector<std::string_view> argument_names(std::string_view schema) {
  std::vector<std::string_view> names;
  for_each_argument(schema, [&](std::string_view, std::string_view name) {
    names.push_back(name);
    return true;
  });
  return names;
}

bool argument_is_written(std::string_view schema, std::size_t index) {
  bool is_written = false;
  for_each_argument(schema, [&](std::string_view text, std::string_view) {
    is_written = index == 0 && text.find('!') != std::string_view::npos;
    return index-- > 0;
  });
  return is_written;
}

int argument_index(std::string_view schema, std::string_view name) {
  int index = -1;
  bool is_found = false;
  for_each_argument(schema, [&](std::string_view, std::string_view other) {
    ++index;
    is_found = other == name;
    return !is_found;
  });
  return is_found ? index : -1;
}

}  // namespace understudy::et_schema
