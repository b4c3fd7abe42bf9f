#pragma once

#include <span>
#include <vector>

#include "generator/link/host.h"

namespace understudy::generator {

/// The time range of one step in a profile.
struct StepSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< exclusive: an event belongs to the step if it starts earlier
  HostIndex mark = kNoEvent;
  [[nodiscard]] bool contains(std::int64_t time_ns) const {
    return begin_ns <= time_ns && time_ns < end_ns;
  }
};

[[nodiscard]] StepSpan whole_profile(const HostEvents& host);

/// Returns the steps that ProfilerStep annotations mark: from the start of each mark to the start
/// of the next. With fewer than two marks, returns the whole profile as one step.
[[nodiscard]] std::vector<StepSpan> marked_steps(const HostEvents& host);

/// Returns the steps of a profile without marks that repeats the sequence `once` on a thread. The
/// first rare name of the sequence locates the start of each step. Returns the whole profile if the
/// sequence occurs only once.
[[nodiscard]] std::vector<StepSpan> repeated_steps(std::span<const NameId> once,
                                                   const HostEvents& host,
                                                   const HostThread& thread);

}  // namespace understudy::generator
