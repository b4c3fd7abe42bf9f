#include "et_schema/schema_text.h"

#include <cctype>
#include <cstddef>

namespace understudy::et_schema {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

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

}  // namespace

std::string_view operator_name(std::string_view schema) { return schema.substr(0, schema.find('(')); }

std::vector<std::string_view> argument_names(std::string_view schema) {
  std::vector<std::string_view> names;
  const std::size_t open = schema.find('(');
  if (open == std::string_view::npos) {
    return names;
  }
  int depth = 0;
  bool quoted = false;
  std::size_t begin = open + 1;
  const auto take = [&](std::size_t end) {
    const std::string_view name = name_of(schema.substr(begin, end - begin));
    if (!name.empty()) {
      names.push_back(name);
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
  return names;
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
