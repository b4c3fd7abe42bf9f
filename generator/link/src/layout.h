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

/// Converts times of one step to times of the typical step, by linear interpolation between the
/// starts of the surrounding nodes.
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

/// Lays out the typical step: the interval from each start to the next is its median over the
/// steps. Medians of the starts themselves would not fit the durations, because a delay in one step
/// shifts all later starts of that step. Waits for other ranks fall into different intervals in
/// different steps, so no median shows them. Each interval is therefore extended by a share of the
/// difference between its mean and its median. The share is chosen so that the whole is as long as
/// the median step.
///
/// If steps begin nodes in another order or lack some, the intervals would add up to more than a
/// step. Nodes of only some steps are therefore placed between those of all steps, and the whole is
/// never longer than the median step. The time is n log n in the nodes.
[[nodiscard]] Layout lay_out(const Join& join, const HostEvents& host);

}  // namespace understudy::generator
