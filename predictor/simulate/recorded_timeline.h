#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {

/// When device work ended in the original, derived from issue times and durations.
struct RecordedTimeline {
  /// By instruction: end of its device work, relative to the step's start.
  std::vector<std::optional<std::int64_t>> ends_ns;
  /// By instruction that waits for its stream: when all work issued before on that stream ended.
  std::vector<std::optional<std::int64_t>> stream_done_ns;
};

[[nodiscard]] RecordedTimeline recorded_timeline(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
