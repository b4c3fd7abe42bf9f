#pragma once

#include <cstdint>
#include <vector>

namespace understudy::generator {

/// Of at least one.
[[nodiscard]] std::int64_t mean(const std::vector<std::int64_t>& samples);

/// Half-way between the middle two for an even number; of two the smaller one, as much makes a step
/// slower and nothing faster; 0 of none. Reorders the samples.
[[nodiscard]] std::int64_t median(std::vector<std::int64_t>& samples);

}  // namespace understudy::generator
