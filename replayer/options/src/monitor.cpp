#include "replayer/options/monitor.h"

#include "et_schema/support/assert.h"

namespace understudy::replayer {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kTensors:
      return "making tensors";
    case Phase::kTrial:
      return "trial";
    case Phase::kValues:
      return "looking at values";
    case Phase::kWarmUp:
      return "warm-up";
    case Phase::kIterations:
      return "iterations";
    case Phase::kTimingPasses:
      return "timing passes";
  }
  UNDERSTUDY_ASSERT(false);
  return {};
}

}  // namespace understudy::replayer
