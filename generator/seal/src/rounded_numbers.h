#pragma once

#include <string_view>

namespace understudy::generator {

/// One significant digit: 0.00035 → 0.0003 or 0.0004. Near 1 that of the distance to it, 0.9987 →
/// 0.999: what decays goes on to do so, and a bound below 1 stays below. Whole numbers of more than
/// one digit are cut, not rounded, 255 → 200: what they bound stays in its bounds.
[[nodiscard]] double rounded(double value);

/// Whether a real number among a public operator's arguments tells how large its result is.
[[nodiscard]] bool tells_size(std::string_view op, std::string_view argument);

/// Whether a whole number among them is a generator's seed, or counts the steps that an optimizer
/// took.
[[nodiscard]] bool is_seed(std::string_view argument);
[[nodiscard]] bool counts_steps(std::string_view argument);

}  // namespace understudy::generator
