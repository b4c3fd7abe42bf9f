#include "program_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace understudy::et_schema {
namespace {

// In the order of the variant's alternatives.
constexpr std::array<std::string_view, 13> kValueRuleKinds = {
    "zeros",  "constant",  "uniform", "normal",  "integers", "offsets", "lengths",
    "arange", "bernoulli", "mask",    "targets", "reuse",    "dominant"};
static_assert(kValueRuleKinds.size() == std::variant_size_v<ValueRule::Kind>);

template <std::size_t... kIndices>
ValueRule::Kind kind_at(std::size_t index, std::index_sequence<kIndices...> /*all*/) {
  ValueRule::Kind kind;
  static_cast<void>(((kIndices == index && (kind.emplace<kIndices>(), true)) || ...));
  return kind;
}

}  // namespace

std::string_view to_string(const ValueRule::Kind& kind) {
  return kValueRuleKinds[kind.index()];
}

std::optional<ValueRule::Kind> value_rule_kind_from_string(std::string_view name) {
  const auto found = std::ranges::find(kValueRuleKinds, name);
  if (found == kValueRuleKinds.end()) {
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(found - kValueRuleKinds.begin());
  return kind_at(index, std::make_index_sequence<kValueRuleKinds.size()>());
}

std::optional<CommKind> comm_kind_from_string(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(CommKind::kInit); ++i) {
    const auto kind = static_cast<CommKind>(i);
    if (to_string(kind) == name) {
      return kind;
    }
  }
  return std::nullopt;
}

}  // namespace understudy::et_schema
