#include "et_schema/model/operator_facts.h"

#include <algorithm>
#include <array>

#include "et_schema/model/operator_map.h"
#include "et_schema/model/schema_text.h"
#include "operator_rows.h"

namespace understudy::et_schema {
namespace {

std::array<std::span<const OperatorFacts>, 4> parts() {
  return {operator_rows::index_rows(), operator_rows::layer_rows(), operator_rows::number_rows(),
          operator_rows::tensor_rows()};
}

const OperatorFacts* find_row(std::string_view name) {
  for (const std::span<const OperatorFacts> part : parts()) {
    const auto row = std::ranges::lower_bound(part, name, {}, &OperatorFacts::name);
    if (row != part.end() && row->name == name) {
      return &*row;
    }
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(Meaning meaning) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"index",          "plane index",    "index list",     "class",       "label",
       "monotone",       "offsets",        "ends",           "lengths",     "lengths of result",
       "sorted lengths", "batch sizes",    "size",           "permutation", "table offsets",
       "table rows",     "table columns",  "selects result", "selects all", "condition",
       "hides",          "shows",          "keep mask",      "probability", "unit",
       "above one",      "positive",       "divisor",        "power base",  "second moment",
       "small",          "moving average", "scale",          "quantum",     "ascending",
       "matrix",         "zero",           "step count",     "data",        "template"});
  static_assert(kNames.size() == kMeaningCount);
  return kNames[static_cast<std::size_t>(meaning)];
}

const OperatorFacts& operator_facts(std::string_view op) {
  static constexpr OperatorFacts kUnknown;
  std::string_view name = without_overload(op);
  if (name.starts_with("fbgemm::split_embedding_codegen_lookup_")) {
    name = "fbgemm::dense_embedding_codegen_lookup_function";
  }
  const OperatorFacts* row = find_row(name);
  if (row == nullptr && name.ends_with('_')) {
    row = find_row(name.substr(0, name.size() - 1));
  }
  if (row == nullptr && !name.starts_with("aten::")) {
    const MapRow* const mapped = operator_map().find_name(name);
    return mapped == nullptr ? kUnknown : mapped->facts;
  }
  return row == nullptr ? kUnknown : *row;
}

std::vector<const OperatorFacts*> all_operator_facts() {
  std::vector<const OperatorFacts*> rows;
  for (const std::span<const OperatorFacts> part : parts()) {
    for (const OperatorFacts& row : part) {
      rows.push_back(&row);
    }
  }
  std::ranges::sort(rows, {}, &OperatorFacts::name);
  return rows;
}

bool asks_about_tensors(std::string_view op) {
  const std::string_view word = without_namespace(op);
  // What looks at elements is written as one word, "aten::isnan", but for these.
  constexpr auto kLooks =
      std::to_array<std::string_view>({"is_nonzero", "_is_all_true", "_is_any_true"});
  const bool is_question =
      word.starts_with("is_") || word.starts_with("_is_") || word.starts_with("sym_");
  return operator_facts(op).asks ||
         (is_question && std::ranges::find(kLooks, word) == kLooks.end());
}

}  // namespace understudy::et_schema
