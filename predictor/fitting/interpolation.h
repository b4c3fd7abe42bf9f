#pragma once

#include <cstddef>
#include <vector>

namespace understudy::predictor {

/// Position of a number among ascending ones.
struct Place {
  /// Index of the neighbour below, or of the nearest number beyond an end.
  std::size_t below = 0;
  double share = 0;    ///< share of the distance to the next number, in [0, 1)
  double gap = 0;      ///< distance between the neighbours; 0 at an end or on a neighbour
  double outside = 0;  ///< distance beyond the nearest end; 0 between the ends
};
/// Finds the position of `x`. `ascending` must not be empty.
[[nodiscard]] Place find_place(const std::vector<double>& ascending, double x);

/// Interpolates linearly between neighbours. Beyond an end, returns the end's value.
[[nodiscard]] double interpolate(const std::vector<double>& values, const Place& place);

/// Returns the standard deviation, at a place, of a random walk over x with unit steps (1 per
/// sqrt(x)) whose values at the neighbours are known. Beyond an end the walk is free. Interpolation
/// errors grow in the same way: zero on a known value, largest halfway between two.
[[nodiscard]] double walk_deviation(const Place& place);

}  // namespace understudy::predictor
