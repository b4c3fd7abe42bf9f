#include "comm_times.h"

#include <algorithm>
#include <functional>

namespace understudy::replayer {

std::vector<std::vector<double>> times_of_comms(const BoundProgram& bound,
                                                const std::vector<std::vector<double>>& calls_s) {
  std::vector<std::vector<double>> times(bound.comms.size());
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    if (step.kind == StepKind::kStart || step.kind == StepKind::kJoin) {
      std::vector<double>& all = times[step.index];
      all.resize(std::max(all.size(), calls_s[i].size()));
      std::ranges::transform(calls_s[i], all, all.begin(), std::plus<>());
    }
  }
  return times;
}

}  // namespace understudy::replayer
