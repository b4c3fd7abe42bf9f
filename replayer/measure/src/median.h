#pragma once

#include <algorithm>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::replayer {

/// 0 of no samples.
[[nodiscard]] inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return et_schema::percentile(samples, 0.5).value_or(0);
}

}  // namespace understudy::replayer
