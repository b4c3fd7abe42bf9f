#pragma once

#include <span>
#include <vector>

#include "generator/link/host.h"

namespace understudy::generator {

/// The stretch of a profile that is one step.
struct StepSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< exclusive: the step has what started before it
  HostIndex mark = kNoEvent;
  [[nodiscard]] bool contains(std::int64_t time_ns) const {
    return begin_ns <= time_ns && time_ns < end_ns;
  }
};

[[nodiscard]] StepSpan whole_profile(const HostEvents& host);

/// The steps that ProfilerStep annotations mark: from the start of each mark to that of the next
/// one. With one mark or none, the whole profile.
[[nodiscard]] std::vector<StepSpan> marked_steps(const HostEvents& host);

/// The steps of a profile without marks that shows the sequence `once` several times on a thread.
/// Each step begins where the first rare name of the sequence says. The whole profile if it shows
/// the sequence only once.
[[nodiscard]] std::vector<StepSpan> repeated_steps(std::span<const NameId> once,
                                                   const HostEvents& host,
                                                   const HostThread& thread);

}  // namespace understudy::generator
