#include "et_schema/facts/operator_facts.h"

#include <fmt/format.h>

#include <deque>
#include <string>
#include <vector>

#include "et_schema/base/words.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/schema_text.h"
#include "operator_rows.h"

namespace understudy::et_schema {

std::span<const OperatorFacts> all_operator_facts() {
  static std::deque<std::string> names;
  static const std::vector<OperatorFacts> facts = [] {
    std::vector<OperatorFacts> all;
    for (const std::span<const operator_rows::OperatorRow> part :
         {operator_rows::value_rows(), operator_rows::tensor_rows()}) {
      for (const operator_rows::OperatorRow& row : part) {
        any_word(row.names, [&](std::string_view name) {
          const bool is_whole = name.find("::") != std::string_view::npos;
          names.push_back(fmt::format("{}{}", is_whole ? "" : "aten::", name));
          all.push_back(row.facts);
          all.back().name = names.back();
          return false;
        });
      }
    }
    std::ranges::sort(all, {}, &OperatorFacts::name);
    return all;
  }();
  return facts;
}

namespace {

const OperatorFacts* find_facts(std::string_view name) {
  const auto found = std::ranges::lower_bound(all_operator_facts(), name, {}, &OperatorFacts::name);
  return found != all_operator_facts().end() && found->name == name ? &*found : nullptr;
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
  const OperatorFacts* found = find_facts(name);
  if (found == nullptr && name.ends_with('_')) {
    found = find_facts(name.substr(0, name.size() - 1));
  }
  if (found == nullptr && !name.starts_with("aten::")) {
    const MapRow* const mapped = operator_map().find_name(name);
    return mapped == nullptr ? kUnknown : mapped->facts;
  }
  return found == nullptr ? kUnknown : *found;
}

bool asks_about_tensors(std::string_view op) {
  const std::string_view word = without_namespace(op);
  // Operators that read elements are written as one word ("aten::isnan"), except for these.
  constexpr std::string_view kLooks = "is_nonzero _is_all_true _is_any_true";
  const bool is_question =
      word.starts_with("is_") || word.starts_with("_is_") || word.starts_with("sym_");
  return operator_facts(op).asks || (is_question && !has_word(kLooks, word));
}

}  // namespace understudy::et_schema
