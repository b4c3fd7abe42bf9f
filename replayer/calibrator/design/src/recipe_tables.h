#pragma once

#include <span>

#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {

// Shapes that several tables use: their letters and ranges.
inline constexpr const char* kElements = "n:1..8388608";
inline constexpr const char* kMatrix = "r:1..8192 c:1..8192";

[[nodiscard]] std::span<const Recipe> layer_recipes();
[[nodiscard]] std::span<const Recipe> elementwise_recipes();
[[nodiscard]] std::span<const Recipe> memory_recipes();

}  // namespace understudy::calibrator
