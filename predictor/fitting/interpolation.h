#pragma once

#include <cstddef>
#include <vector>

namespace understudy::predictor {

/// Where a number lies among ascending ones.
struct Place {
  std::size_t below = 0;  ///< position of the neighbour below, or of the nearest one at an end
  double share = 0;       ///< of the way to the next one, in [0, 1)
  double gap = 0;         ///< from that neighbour to the next one; 0 at an end or on a neighbour
  double outside = 0;     ///< how far beyond the nearest end; 0 between the ends
};
/// `ascending` is not empty.
[[nodiscard]] Place find_place(const std::vector<double>& ascending, double x);

/// Linear between neighbours, the end's own value beyond an end.
[[nodiscard]] double interpolate(const std::vector<double>& values, const Place& place);

/// The standard deviation, in units of one per sqrt(x), of what lies between two known values of a
/// random walk over x; beyond an end that of the walk itself. Errors of an interpolation grow like
/// it: none on a known value, the most in the middle.
[[nodiscard]] double walk_deviation(const Place& place);

}  // namespace understudy::predictor
