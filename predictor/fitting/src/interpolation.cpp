#include "predictor/fitting/interpolation.h"

#include <algorithm>
#include <cmath>

#include "et_schema/base/assert.h"

namespace understudy::predictor {

Place find_place(const std::vector<double>& ascending, double x) {
  UNDERSTUDY_ASSERT(!ascending.empty());
  const auto above = std::ranges::upper_bound(ascending, x);
  if (above == ascending.begin()) {
    return {.below = 0, .outside = ascending.front() - x};
  }
  const auto below = static_cast<std::size_t>(above - ascending.begin()) - 1;
  if (above == ascending.end()) {
    return {.below = below, .outside = x - ascending.back()};
  }
  const double gap = *above - ascending[below];
  const double share = (x - ascending[below]) / gap;
  return {.below = below, .share = share, .gap = share > 0 ? gap : 0};
}

double interpolate(const std::vector<double>& values, const Place& place) {
  const double below = values[place.below];
  return place.share > 0 ? below + place.share * (values[place.below + 1] - below) : below;
}

double walk_deviation(const Place& place) {
  return std::sqrt(place.share * (1 - place.share) * place.gap + place.outside);
}

}  // namespace understudy::predictor
