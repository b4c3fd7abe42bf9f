#include "value_table.h"

#include <algorithm>
#include <array>

namespace understudy::generator {
namespace {

std::span<const ArgumentRule> find_rows(std::string_view op) {
  for (const std::span<const ArgumentRule> part :
       {index_rules(), layer_rules(), number_rules(), jagged_rules()}) {
    // Not equal_range: clang 14 does not compile libstdc++'s subrange.
    const auto first = std::ranges::lower_bound(part, op, {}, &ArgumentRule::op);
    const auto last = std::ranges::upper_bound(part, op, {}, &ArgumentRule::op);
    if (first != last) {
      return {first, last};
    }
  }
  return {};
}

}  // namespace

std::span<const ArgumentRule> argument_rules(std::string_view op) {
  if (op.starts_with("fbgemm::split_embedding_codegen_lookup_")) {
    op = "fbgemm::dense_embedding_codegen_lookup_function";  // one name for each optimizer, the
                                                             // same tables
  }
  const std::span<const ArgumentRule> rows = find_rows(op);
  return rows.empty() && op.ends_with('_') ? find_rows(op.substr(0, op.size() - 1)) : rows;
}

std::vector<ArgumentRule> all_argument_rules() {
  std::vector<ArgumentRule> rows;
  for (const std::span<const ArgumentRule> part :
       {index_rules(), layer_rules(), number_rules(), jagged_rules()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  std::ranges::stable_sort(rows, {}, &ArgumentRule::op);
  return rows;
}

std::string_view to_string(Meaning meaning) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"index",          "plane index",    "index list",     "class",       "label",
       "monotone",       "offsets",        "ends",           "lengths",     "lengths of result",
       "sorted lengths", "batch sizes",    "size",           "permutation", "table offsets",
       "table rows",     "table columns",  "selects result", "selects all", "condition",
       "hides",          "shows",          "keep mask",      "probability", "unit",
       "above one",      "positive",       "divisor",        "power base",  "second moment",
       "small",          "moving average", "scale",          "quantum",     "ascending",
       "matrix",         "zero",           "step count"});
  static_assert(kNames.size() == static_cast<std::size_t>(Meaning::kStepCount) + 1);
  return kNames[static_cast<std::size_t>(meaning)];
}

bool has_pinned_results(std::string_view op) {
  constexpr std::array kPinned = {
      std::string_view("aten::_unique"),    std::string_view("aten::_unique2"),
      std::string_view("aten::bincount"),   std::string_view("aten::unique_consecutive"),
      std::string_view("aten::unique_dim"), std::string_view("aten::unique_dim_consecutive"),
      std::string_view("torchvision::nms")};
  return std::ranges::find(kPinned, op) != kPinned.end();
}

}  // namespace understudy::generator
