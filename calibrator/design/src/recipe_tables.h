#pragma once

#include <span>

#include "calibrator/design/recipe.h"

namespace understudy::calibrator {

[[nodiscard]] std::span<const Recipe> layer_recipes();
[[nodiscard]] std::span<const Recipe> elementwise_recipes();
[[nodiscard]] std::span<const Recipe> memory_recipes();

}  // namespace understudy::calibrator
