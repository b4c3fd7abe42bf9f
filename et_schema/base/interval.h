#pragma once

#include <cmath>

namespace understudy::et_schema {

/// A value and its interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

/// Returns √(a² + b²), the width of two independent errors together. Unlike std::hypot() it has the
/// same bits in every C library, and needs none of glibc 2.35.
[[nodiscard]] inline double root_sum_square(double a, double b) {
  return std::sqrt(a * a + b * b);
}

}  // namespace understudy::et_schema
