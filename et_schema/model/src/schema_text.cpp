#include "et_schema/model/schema_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace understudy::et_schema {
namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
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

/// The texts between the commas: "Tensor(a!) self", "int[1]? dim=None"; a bare "*" is left out.
std::vector<std::string_view> argument_texts(std::string_view schema) {
  std::vector<std::string_view> texts;
  const std::size_t open = schema.find('(');
  if (open == std::string_view::npos) {
    return texts;
  }
  int depth = 0;
  bool quoted = false;
  std::size_t begin = open + 1;
  const auto take = [&](std::size_t end) {
    const std::string_view text = schema.substr(begin, end - begin);
    if (!name_of(text).empty()) {
      texts.push_back(text);
    }
    begin = end + 1;
  };
  for (std::size_t i = open + 1; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '"' || c == '\'') {
      quoted = !quoted;
    }
    if (quoted) {
      continue;
    }
    if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ']' || (c == ')' && depth > 0)) {
      --depth;
    } else if (c == ')') {
      take(i);
      break;
    } else if (c == ',' && depth == 0) {
      take(i);
    }
  }
  return texts;
}

}  // namespace

std::string_view operator_name(std::string_view schema) {
  return schema.substr(0, schema.find('('));
}

std::vector<SchemaArgument> arguments_of(std::string_view schema) {
  std::vector<SchemaArgument> arguments;
  for (std::string_view text : argument_texts(schema)) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    SchemaArgument argument;
    argument.name = name_of(text);
    const auto at = static_cast<std::size_t>(argument.name.data() - text.data());
    argument.type = text.substr(0, at);
    argument.type = argument.type.substr(0, argument.type.find_last_not_of(' ') + 1);
    const std::string_view rest = text.substr(at + argument.name.size());
    argument.default_value = rest.starts_with('=') ? rest.substr(1) : std::string_view();
    arguments.push_back(argument);
  }
  return arguments;
}

std::string_view returns_of(std::string_view schema) {
  const std::size_t arrow = schema.rfind("->");
  const std::string_view text = arrow == std::string_view::npos ? "" : schema.substr(arrow + 2);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::vector<std::string_view> argument_names(std::string_view schema) {
  std::vector<std::string_view> names;
  for (const std::string_view text : argument_texts(schema)) {
    names.push_back(name_of(text));
  }
  return names;
}

bool argument_is_written(std::string_view schema, std::size_t index) {
  const std::vector<std::string_view> texts = argument_texts(schema);
  return index < texts.size() && texts[index].find('!') != std::string_view::npos;
}

int argument_index(std::string_view schema, std::string_view name) {
  const std::vector<std::string_view> names = argument_names(schema);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace understudy::et_schema
