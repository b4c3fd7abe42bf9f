#pragma once

#include <algorithm>
#include <cstddef>

#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

/// Of samples that follow a normal distribution, cut at 0.
inline Distribution normal(double mean_ns, double deviation_ns, std::size_t n) {
  const double off_ns = 1.645 * deviation_ns;
  return {mean_ns, deviation_ns, n, std::max(0.0, mean_ns - off_ns), mean_ns, mean_ns + off_ns};
}

}  // namespace understudy::predictor
