#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {

/// When device work ended in the original, as far as issue times and durations tell.
struct RecordedTimeline {
  /// By instruction: the end of its device work, since the step's start.
  std::vector<std::optional<std::int64_t>> ends_ns;
  /// By instruction that waits for its stream: when all that was issued before was done on that
  /// stream.
  std::vector<std::optional<std::int64_t>> stream_done_ns;
};

[[nodiscard]] RecordedTimeline recorded_timeline(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
