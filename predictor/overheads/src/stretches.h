#pragma once

#include <cstdint>
#include <vector>

namespace understudy::predictor {

/// A stretch of time, the end not in it.
struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] std::int64_t ns() const { return end_ns - start_ns; }
};
/// Apart from each other and in the order of time, where a function says so.
using Stretches = std::vector<Stretch>;

/// What any of them covers; apart and in order.
[[nodiscard]] Stretches merged_stretches(Stretches stretches);

/// How much of `of` they cover, which are apart and in order.
[[nodiscard]] std::int64_t covered_ns(const Stretches& stretches, const Stretch& of);

struct StreamStretch {
  std::int64_t stream = 0;
  Stretch stretch = {};
};
/// When two or more different streams work; apart and in order.
[[nodiscard]] Stretches several_streams(const std::vector<StreamStretch>& work);

}  // namespace understudy::predictor
