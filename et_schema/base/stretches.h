#pragma once

#include <cstdint>
#include <vector>

namespace understudy::et_schema {

/// A stretch of time; its end is exclusive.
struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] std::int64_t ns() const { return end_ns - start_ns; }
};
/// Stretches of time. Where a function says so, they are separate and in the order of time.
using Stretches = std::vector<Stretch>;

/// The time that any of them covers, as separate stretches in order.
[[nodiscard]] Stretches merged_stretches(Stretches stretches);

/// How much of `of` the stretches cover; they must be separate and in order.
[[nodiscard]] std::int64_t covered_ns(const Stretches& stretches, const Stretch& of);

/// The sum of their lengths.
[[nodiscard]] std::int64_t total_ns(const Stretches& stretches);

}  // namespace understudy::et_schema
