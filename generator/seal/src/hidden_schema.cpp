#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "et_schema/model/schema_text.h"
#include "public_words.h"

namespace understudy::generator {
namespace {

constexpr auto kTypes = std::to_array<std::string_view>(
    {"Any",          "Await",   "Device",  "Dict",     "Dimname",  "Future",  "Generator",
     "Layout",       "List",    "None",    "NoneType", "Object",   "QScheme", "Scalar",
     "ScalarType",   "Storage", "Stream",  "SymBool",  "SymFloat", "SymInt",  "Tensor",
     "MemoryFormat", "bool",    "complex", "float",    "int",      "number",  "str"});

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

/// A name follows its type and a blank.
bool is_name(std::string_view before) {
  constexpr std::string_view kBeforeTypes = "(,>";
  const std::size_t last = before.find_last_not_of(' ');
  return before.ends_with(' ') && last != std::string_view::npos &&
         kBeforeTypes.find(before[last]) == std::string_view::npos;
}

/// The types of "(Tensor(a!) result, Table[2] rows)": "(Tensor(a!), Object[])".
std::string public_types(std::string_view text) {
  constexpr std::string_view kSigns = " ()[],?!*->|";
  std::string types;
  while (!text.empty()) {
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_word);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    if (word.empty()) {
      types += kSigns.find(text.front()) == std::string_view::npos ? "" : text.substr(0, 1);
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(word.size());
    if (is_name(types)) {
      types.pop_back();
    } else if (word.front() < '0' || word.front() > '9') {
      const bool stays = word.size() == 1 || std::ranges::find(kTypes, word) != kTypes.end();
      types += stays ? word : "Object";
    }
  }
  return types;
}

}  // namespace

std::string hidden_schema(std::string_view schema, std::string_view name) {
  std::vector<std::string> arguments;
  for (const et_schema::SchemaArgument& argument : et_schema::arguments_of(schema)) {
    arguments.push_back(fmt::format("{} arg{}", public_types(argument.type), arguments.size()));
  }
  const bool is_whole = schema.find('(') != std::string_view::npos;
  const std::string returns = public_types(et_schema::returns_of(schema));
  return fmt::format("{}{}{}", name,
                     is_whole ? fmt::format("({})", fmt::join(arguments, ", ")) : "",
                     returns.empty() ? "" : " -> " + returns);
}

}  // namespace understudy::generator
