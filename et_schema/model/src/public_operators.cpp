#include "et_schema/model/public_operators.h"

#include <algorithm>
#include <array>

namespace understudy::et_schema {
namespace {

/// "aten::add Scalar Tensor out": a name and its overloads, those of other releases behind "|". In
/// order of names.
constexpr auto kOperators = std::to_array<std::string_view>({
#include "public_operators.inc"
});

constexpr std::string_view kBehindName = " |";

constexpr std::string_view name_in(std::string_view line) {
  return line.substr(0, line.find_first_of(kBehindName));
}

static_assert(std::ranges::is_sorted(kOperators, {}, name_in));

/// Each overload follows a blank or a bar.
bool has_overload(std::string_view rest, std::string_view overload) {
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view next = name_in(rest);
    if (!next.empty() && next == overload) {
      return true;
    }
    rest.remove_prefix(next.size());
  }
  return false;
}

}  // namespace

bool is_public_operator(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string_view base = name.substr(0, dot);
  const auto* const line = std::ranges::lower_bound(kOperators, base, {}, name_in);
  if (base.empty() || line == kOperators.end() || name_in(*line) != base) {
    return false;
  }
  return dot == std::string_view::npos ||
         has_overload(line->substr(base.size()), name.substr(dot + 1));
}

}  // namespace understudy::et_schema
