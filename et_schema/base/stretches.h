#pragma once

#include <cstdint>
#include <vector>

namespace understudy::et_schema {

/// A time interval; the end is exclusive.
struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] std::int64_t ns() const { return end_ns - start_ns; }
};
/// Time intervals. Some functions require or return them disjoint and ordered by time.
using Stretches = std::vector<Stretch>;

/// Returns the union of the stretches, disjoint and in order.
[[nodiscard]] Stretches merged_stretches(Stretches stretches);

/// Returns the time of `of` that the stretches cover; they must be disjoint and in order.
[[nodiscard]] std::int64_t covered_ns(const Stretches& stretches, const Stretch& of);

/// Returns the sum of the lengths.
[[nodiscard]] std::int64_t total_ns(const Stretches& stretches);

}  // namespace understudy::et_schema
