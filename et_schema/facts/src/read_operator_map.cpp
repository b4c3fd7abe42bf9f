#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "et_schema/base/json_fields.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {
namespace {

constexpr DocumentFormat kFormat{"operator map", "understudy operator map", 1};

constexpr std::string_view kLayoutsParameter = "Layouts results";

constexpr auto kTypes = std::to_array<std::string_view>(
    {"Tensor", "int", "float", "bool", "str", "Device", "Tensor[]", "int[]", "float[]", "bool[]"});

void refuse_other_keys(const JsonField& object, std::span<const std::string_view> known) {
  for (const auto& [key, value] : object.members()) {
    if (std::ranges::find(known, key) == known.end()) {
      value.fail(fmt::format("one of the keys {}", fmt::join(known, ", ")), key);
    }
  }
}

std::vector<std::string> texts_of(const std::optional<JsonField>& field) {
  return field ? field->as_texts() : std::vector<std::string>();
}

std::string lines_of(const std::vector<std::string>& lines, std::string_view indent) {
  std::string text;
  for (const std::string& line : lines) {
    text.append(indent).append(line).append("\n");
  }
  return text;
}

/// Returns the lines of functions. Throws if a function is too long: LibTorch's compiler recurses
/// into expressions, and its stack suffices for 4,000 characters.
std::vector<std::string> function_lines(const JsonField& field) {
  constexpr std::size_t kMostCharacters = 2500;
  std::vector<std::string> lines = field.as_texts();
  std::size_t characters = 0;
  for (const std::string& line : lines) {
    characters = line.size() + 1 + (line.starts_with("def ") ? 0 : characters);
    if (characters > kMostCharacters) {
      field.fail(fmt::format("functions of at most {} characters each", kMostCharacters),
                 "a longer one");
    }
  }
  return lines;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// Parses "Tensor? weight|gamma".
MapParameter parameter_of(const JsonField& field) {
  const std::string& text = field.as_text();
  const std::size_t blank = std::min(text.find(' '), text.size());
  MapParameter parameter{text.substr(0, blank), {}};
  if (blank < text.size()) {
    parameter.names = parts_of(std::string_view(text).substr(blank + 1), '|');
  }
  std::string_view type = parameter.type;
  type.remove_suffix(parameter.is_optional() ? 1 : 0);
  if (std::ranges::find(kTypes, type) == kTypes.end() || parameter.names.empty() ||
      !std::ranges::all_of(parameter.names, is_name)) {
    field.fail(fmt::format("a type and a name, such as 'Tensor? weight|w'; types are {}",
                           fmt::join(kTypes, ", ")));
  }
  return parameter;
}

Meaning meaning_of(const JsonField& field) {
  for (std::size_t i = 0; i < kMeaningCount; ++i) {
    if (to_string(static_cast<Meaning>(i)) == field.as_text()) {
      return static_cast<Meaning>(i);
    }
  }
  field.fail("a meaning of docs/values.md, such as 'index' or 'offsets'");
}

const MapParameter* find_parameter(const MapRow& row, std::string_view name) {
  const auto found = std::ranges::find_if(
      row.takes, [&](const MapParameter& parameter) { return parameter.names.front() == name; });
  return found == row.takes.end() ? nullptr : &*found;
}

class RowReader {
 public:
  RowReader(JsonField field, MapRow& row) : field_(std::move(field)), row_(row) {}

  void read() {
    // The last ones are the built-in rows'.
    constexpr auto kKeys = std::to_array<std::string_view>(
        {"operators", "takes", "ignores", "does", "like", "schemas", "values", "approximate",
         "source", "by", "stub", "autograd"});
    constexpr std::size_t kOfBuiltIn = 3;
    const bool is_built_in = row_.file.empty();
    refuse_other_keys(field_,
                      std::span(kKeys).first(kKeys.size() - (is_built_in ? 0 : kOfBuiltIn)));
    read_operators(field_.at("operators"));
    for (const JsonField& parameter : field_.at("takes").items()) {
      row_.takes.push_back(is_built_in && parameter.as_text() == kLayoutsParameter
                               ? MapParameter{std::string(kLayouts), {"results"}}
                               : parameter_of(parameter));
    }
    for (std::string& name : texts_of(field_.find("ignores"))) {
      row_.ignores.insert(std::move(name));
    }
    row_.does = lines_of(function_lines(field_.at("does")), "  ");
    if (row_.does.empty()) {
      field_.at("does").fail("lines of a function");
    }
    if (const auto like = field_.find("like")) {
      read_like(*like);
    }
    if (const auto values = field_.find("values")) {
      read_values(*values);
    }
    if (const auto why = field_.find("approximate")) {
      row_.approximate = why->as_text();
    }
    if (const auto by = field_.find("by")) {
      row_.reported = by->as_text();
    }
    const auto stub = field_.find("stub");
    row_.is_stub = stub && stub->as_bool();
    const auto autograd = field_.find("autograd");
    row_.uses_autograd = autograd && autograd->as_bool();
    if (const auto source = field_.find("source")) {
      static_cast<void>(source->as_text());
    }
    if (const auto schemas = field_.find("schemas")) {
      read_schemas(*schemas);
    }
  }

 private:
  void read_operators(const JsonField& names) {
    row_.operators = names.as_texts();
    const bool are_whole = std::ranges::all_of(row_.operators, [](const std::string& name) {
      return name.find("::") != std::string::npos;
    });
    if (row_.operators.empty() || !are_whole) {
      names.fail("names of operators, such as '_C::rms_norm'; '*' stands for any characters");
    }
  }

  void read_like(const JsonField& like) {
    row_.like_tensors = like.as_texts();
    if (row_.like_tensors.empty() || row_.like_tensors.front().find("::") == std::string::npos) {
      like.fail("an operator and the parameters that are its tensors: ['aten::mm', 'a', 'b']");
    }
    row_.like = std::move(row_.like_tensors.front());
    row_.like_tensors.erase(row_.like_tensors.begin());
    for (const std::string& name : row_.like_tensors) {
      if (find_parameter(row_, name) == nullptr) {
        like.fail("parameters of takes", name);
      }
    }
  }

  /// An argument may have any name that a parameter lists: the recorded name depends on the
  /// release.
  void read_values(const JsonField& values) {
    struct Told {
      std::size_t name, of;
      Meaning meaning;
      std::int64_t dim;
    };
    std::vector<Told> told;
    for (const JsonField& value : values.items()) {
      refuse_other_keys(value, std::array<std::string_view, 4>{"of", "argument", "is", "dim"});
      const auto dim = value.find("dim");
      const Told one{keep(value.at("argument").as_text()),
                     keep(value.find("of") ? value.at("of").as_text() : ""),
                     meaning_of(value.at("is")), dim ? dim->as_int() : 0};
      told.push_back(one);
    }
    constexpr std::size_t kMost = ArgumentFacts::kMost;
    if (told.size() > kMost) {
      values.fail(fmt::format("at most {} arguments", kMost), fmt::format("{}", told.size()));
    }
    std::vector<ArgumentFact> facts;
    facts.reserve(told.size());
    for (const Told& one : told) {
      facts.push_back({row_.told[one.name], one.meaning, row_.told[one.of], one.dim});
    }
    row_.facts.arguments = ArgumentFacts(facts);
  }

  std::size_t keep(std::string text) {
    row_.told.push_back(std::move(text));
    return row_.told.size() - 1;
  }

  void read_schemas(const JsonField& schemas) {
    for (const JsonField& schema : schemas.items()) {
      const std::string& text = schema.as_text();
      if (!text.starts_with('(') || text.find("->") == std::string::npos) {
        schema.fail("arguments and results, such as '(Tensor! out, Tensor input) -> ()'");
      }
      for (const std::string& name : row_.operators) {
        if (const std::string why = match_row(row_, name + text).why_not; !why.empty()) {
          schema.fail("arguments that the row takes or ignores", why);
        }
        if (name.find('*') == std::string::npos) {
          row_.schemas.push_back(name + text);
        }
      }
    }
  }

  JsonField field_;
  MapRow& row_;
};

}  // namespace

void OperatorMap::add_rows(std::string_view json, const std::string& file, MapPlace place) {
  const JsonSource source{file, "the operator map cannot be read",
                          "docs/formats.md, \"Operator map\", says what a row holds"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, kFormat);
  constexpr auto kKeys =
      std::to_array<std::string_view>({"format", "version", "functions", "rows", "ignores"});
  refuse_other_keys(root, std::span(kKeys).first(kKeys.size() - (file.empty() ? 0 : 1)));
  const std::vector<std::string> ignored = texts_of(root.find("ignores"));
  const auto shared = root.find("functions");
  const std::string functions = shared ? lines_of(function_lines(*shared), "") : "";
  std::list<MapRow> added;
  for (const JsonField& field : root.at("rows").items()) {
    MapRow& row = added.emplace_back();
    row.file = file;
    row.is_of_benchmark = place == MapPlace::kBeforeBuiltIn;
    row.number = added.size() - 1;
    row.functions = functions;
    row.ignores = {ignored.begin(), ignored.end()};
    RowReader(field, row).read();
  }
  const bool is_users = place == MapPlace::kFirst && !file.empty();
  if (is_users) {
    files_.push_back({file, std::string(json)});
  }
  rows_.splice(place == MapPlace::kFirst ? rows_.begin()
                                         : std::ranges::find(rows_, std::string(), &MapRow::file),
               std::move(added));
}

}  // namespace understudy::et_schema
