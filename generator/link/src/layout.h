#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "generator/link/host.h"
#include "join.h"

namespace understudy::generator {

/// The typical step.
struct Layout {
  /// (position in JoinNodes, time since the step's start), in order.
  std::vector<std::pair<std::size_t, std::int64_t>> starts;
  std::int64_t step_ns = 0;
};

/// Places moments of one step in the typical step: as far between the starts of the nodes around
/// them as in that step.
class StepClock {
 public:
  StepClock(const Layout& layout, const JoinedStep& step, const HostEvents& host);
  [[nodiscard]] std::int64_t typical(std::int64_t seen_ns) const;

 private:
  struct Moment {
    std::int64_t seen_ns = 0;
    std::int64_t typical_ns = 0;
  };
  std::vector<Moment> moments_;  ///< in order of seen_ns
};

/// Lays out the typical step: from each start to the next as long as the median over the steps.
/// Medians of the starts themselves would not fit the durations: what is slow in one step and what
/// is slow in another shift in turn what follows. A step waits now here, now there (for other
/// ranks), which no median shows. So that the whole is as long as the median step, each interval
/// gets a share of the difference between its mean and its median. Steps may begin nodes in another
/// order, or lack some: their intervals would add up to more than a step has. Nodes that only some
/// steps have are put between those that all have, and the whole is never longer than the median
/// step. The time is n log n in the nodes.
[[nodiscard]] Layout lay_out(const Join& join, const HostEvents& host);

}  // namespace understudy::generator
