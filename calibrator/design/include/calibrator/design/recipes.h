#pragma once

#include <vector>

#include "calibrator/design/recipe.h"

namespace understudy::calibrator {

/// The general sweep: operators of training steps, forward and backward. To add one is a line in
/// src/recipes*.cpp; a test builds a call of each.
[[nodiscard]] const std::vector<Recipe>& recipes();

}  // namespace understudy::calibrator
