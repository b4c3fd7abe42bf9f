#include "predictor/calls/costs.h"

#include <utility>

namespace understudy::predictor {

Estimate known(double ns, std::string model) {
  return {.ns = ns, .low_ns = ns, .high_ns = ns, .model = std::move(model)};
}

Estimate scaled(Estimate estimate, double factor) {
  estimate.ns *= factor;
  estimate.low_ns *= factor;
  estimate.high_ns *= factor;
  return estimate;
}

}  // namespace understudy::predictor
