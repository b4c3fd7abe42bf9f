#pragma once

#include <limits>
#include <span>

#include "value_rules.h"

namespace understudy::generator {

/// ArgumentRule::dim of a row whose dimension is the operator's argument `dim`.
inline constexpr std::int64_t kByDim = -1;
/// ArgumentRule::dim of an index into all elements.
inline constexpr std::int64_t kAllDims = std::numeric_limits<std::int64_t>::max();

// The table in parts, each sorted by operator; no operator is in two of them.
[[nodiscard]] std::span<const ArgumentRule> index_rules();
[[nodiscard]] std::span<const ArgumentRule> layer_rules();
[[nodiscard]] std::span<const ArgumentRule> number_rules();
[[nodiscard]] std::span<const ArgumentRule> jagged_rules();

}  // namespace understudy::generator
