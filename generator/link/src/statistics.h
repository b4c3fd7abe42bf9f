#pragma once

#include <cstdint>
#include <vector>

namespace understudy::generator {

/// The mean of at least one sample.
[[nodiscard]] std::int64_t mean(const std::vector<std::int64_t>& samples);

/// Half-way between the middle two for an even number of samples, except that two samples give the
/// smaller one: many things make a step slower, and nothing makes it faster. 0 for no samples.
/// Reorders the samples.
[[nodiscard]] std::int64_t median(std::vector<std::int64_t>& samples);

}  // namespace understudy::generator
