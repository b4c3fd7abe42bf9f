#include "et_schema/facts/operator_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/base/read_file.h"
#include "et_schema/facts/schema_text.h"
#include "known_operators.h"

namespace understudy::et_schema {
namespace {

/// Returns true if the text matches the pattern, in which "*" stands for any characters.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;                         // position in the pattern
  std::size_t star = std::string_view::npos;  // position of the last "*" in the pattern
  std::size_t taken = 0;                      // end of the text that this "*" matches
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool row_names(const MapRow& row, std::string_view op) {
  return std::ranges::any_of(row.operators,
                             [&](const std::string& pattern) { return matches(pattern, op); });
}

/// Returns true if a value of the recorded type can be bound to a parameter. Optional recorded
/// types match, too.
bool can_be_given(std::string_view recorded, std::string_view wanted) {
  const SchemaType from = type_of(recorded);
  const SchemaType to = type_of(wanted);
  const bool is_same = from.base == to.base || (from.base == "int" && to.base == "float") ||
                       (from.base == "Scalar" && (to.base == "float" || to.base == "int")) ||
                       (to.base == "int" && (from.base == "ScalarType" || from.base == "Layout"));
  return is_same && from.is_list == to.is_list;
}

/// "Tensor?" → "Optional[Tensor]", "int[]" → "List[int]".
std::string script_type(std::string_view type) {
  if (type == kLayouts) {
    return "List[Tuple[int, List[int], List[int]]]";
  }
  if (type.ends_with('?')) {
    type.remove_suffix(1);
    return fmt::format("Optional[{}]", script_type(type));
  }
  if (type.ends_with("[]")) {
    type.remove_suffix(2);
    return fmt::format("List[{}]", script_type(type));
  }
  return std::string(type);
}

/// Splits a text into its functions, each beginning with "def ".
std::vector<std::string_view> definitions_of(std::string_view functions) {
  std::vector<std::string_view> definitions;
  while (!functions.empty()) {
    const std::size_t next = functions.find("\ndef ");
    const std::size_t end = next == std::string_view::npos ? functions.size() : next + 1;
    definitions.push_back(functions.substr(0, end));
    functions.remove_prefix(end);
  }
  return definitions;
}

/// Returns the process's map; creates it at the first use.
OperatorMap& map_of_process() {
  static OperatorMap map = [] {
    OperatorMap built_in;
    built_in.add_rows(kKnownOperators, "");
    return built_in;
  }();
  return map;
}

}  // namespace

MapMatch match_row(const MapRow& row, std::string_view schema) {
  const std::vector<SchemaArgument> recorded = arguments_of(schema);
  const auto refused = [&](const std::string& why) {
    return MapMatch{std::nullopt, fmt::format("{} {}", row.place(), why)};
  };
  MappedCall call{&row, {}};
  std::vector<bool> is_taken(recorded.size(), false);
  for (const MapParameter& parameter : row.takes) {
    if (parameter.type == kLayouts) {
      call.arguments.emplace_back();
      continue;
    }
    const auto found = std::ranges::find_first_of(recorded, parameter.names, {},
                                                  [](const SchemaArgument& a) { return a.name; });
    if (found == recorded.end()) {
      if (!parameter.is_optional()) {
        return refused(
            fmt::format("takes an argument {}, which it lacks", fmt::join(parameter.names, "|")));
      }
      call.arguments.emplace_back();
      continue;
    }
    if (!can_be_given(found->type, parameter.type)) {
      return refused(
          fmt::format("takes {} as {}, and it is {}", found->name, parameter.type, found->type));
    }
    const auto place = static_cast<std::size_t>(found - recorded.begin());
    is_taken[place] = true;
    call.arguments.emplace_back(place);
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!is_taken[i] && !row.ignores.contains(recorded[i].name) && !row.ignores.contains("*")) {
      return refused(fmt::format("neither takes nor ignores its argument {}", recorded[i].name));
    }
  }
  return {std::move(call), ""};
}

std::string MapRow::by() const {
  if (!reported.empty()) {
    return reported;
  }
  const std::string what = like.empty() ? "a function" : like;
  return approximate.empty()
             ? "the operator map: " + what
             : fmt::format("the operator map, approximately: {} ({})", what, approximate);
}

std::string MapRow::source() const {
  std::vector<std::string> parameters;
  for (const MapParameter& parameter : takes) {
    parameters.push_back(
        fmt::format("{}: {}", parameter.names.front(), script_type(parameter.type)));
  }
  std::string text = fmt::format("def row({}):\n{}", fmt::join(parameters, ", "), does);
  std::vector<std::string_view> others = definitions_of(functions);
  const auto is_called = [&text](std::string_view definition) {
    constexpr std::string_view kDef = "def ";
    const std::size_t open = definition.find('(');
    return open == std::string_view::npos || !definition.starts_with(kDef) ||
           text.find(definition.substr(kDef.size(), open + 1 - kDef.size())) != std::string::npos;
  };
  for (auto called = std::ranges::find_if(others, is_called); called != others.end();
       called = std::ranges::find_if(others, is_called)) {
    text.insert(0, *called);
    others.erase(called);
  }
  return text;
}

std::string MapRow::place() const {
  return fmt::format("row {} of {}", number, file.empty() ? "the built-in operator map" : file);
}

std::vector<std::size_t> MappedCall::like_arguments() const {
  std::vector<std::size_t> found;
  for (const std::string& name : row->like_tensors) {
    for (std::size_t i = 0; i < row->takes.size(); ++i) {
      if (row->takes[i].names.front() == name && arguments[i]) {
        found.push_back(*arguments[i]);
      }
    }
  }
  return found;
}

MapMatch OperatorMap::find(std::string_view schema) const {
  const std::string_view op = without_overload(operator_name(schema));
  MapMatch first;
  for (const MapRow& row : rows_) {
    if (!row_names(row, op)) {
      continue;
    }
    MapMatch found = match_row(row, schema);
    if (found.call) {
      return found;
    }
    if (first.why_not.empty()) {
      first = std::move(found);
    }
  }
  return first;
}

const MapRow* OperatorMap::find_name(std::string_view op) const {
  const std::string_view name = without_overload(op);
  const auto row = std::ranges::find_if(
      rows_, [&](const MapRow& candidate) { return row_names(candidate, name); });
  return row == rows_.end() ? nullptr : &*row;
}

std::vector<std::string_view> OperatorMap::schemas_of(std::string_view op) const {
  std::vector<std::string_view> schemas;
  for (const MapRow& row : rows_) {
    for (const std::string& schema : row.schemas) {
      if (without_overload(operator_name(schema)) == op) {
        schemas.push_back(schema);
      }
    }
  }
  return schemas;
}

const OperatorMap& operator_map() {
  return map_of_process();
}

void use_operator_map(const std::string& file) {
  map_of_process().add_rows(read_file(file, process_limits()), file);
}

void use_rows_of_benchmark(std::string_view json, const std::string& name) {
  map_of_process().add_rows(json, name, MapPlace::kBeforeBuiltIn);
}

}  // namespace understudy::et_schema
