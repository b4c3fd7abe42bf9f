#include "predictor/simulate/host_gaps.h"

#include <algorithm>
#include <span>
#include <vector>

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;

/// Recorded time of one timeline that is in none of its instructions.
class Gaps {
 public:
  Gaps() = default;
  explicit Gaps(std::span<const DeviceWait> waits) : waits_(waits) {}

  HostGap before(std::int64_t begin_ns) {
    HostGap gap;
    std::int64_t before_ns = 0;
    while (!waits_.empty() && waits_.front().start_ns < last_end_ns_) {
      waits_ = waits_.subspan(1);  // within an instruction
    }
    for (; !waits_.empty() && waits_.front().start_ns < begin_ns; waits_ = waits_.subspan(1)) {
      const DeviceWait& wait = waits_.front();
      if (!gap.wait) {
        before_ns = wait.start_ns - last_end_ns_;
      }
      if (!gap.wait || wait.waits_for <= gap.wait->waits_for) {
        gap.wait = wait;
      }
      gap.wait_ns += std::min(wait.host_ns - wait.own_ns, begin_ns - wait.start_ns);
    }
    const std::int64_t whole_ns = std::max<std::int64_t>(begin_ns - last_end_ns_, 0);
    gap.wait_ns = std::min(gap.wait_ns, whole_ns);
    gap.host_ns = whole_ns - gap.wait_ns;
    if (gap.wait && gap.host_ns > 0) {
      gap.before_share =
          std::min(static_cast<double>(before_ns) / static_cast<double>(gap.host_ns), 1.0);
    }
    return gap;
  }

  void pass(const et_schema::Timing& timing) {
    last_end_ns_ = std::max(last_end_ns_, timing.start_ns + timing.host_ns);
  }

 private:
  std::span<const DeviceWait> waits_;
  std::int64_t last_end_ns_ = 0;
};

}  // namespace

HostGaps host_gaps(const Program& program, const Flow& flow) {
  HostGaps result;
  result.of_instruction.resize(program.instructions.size());
  if (!program.profile) {
    return result;
  }
  // The profile records waits of the step's own thread only.
  std::vector<Gaps> gaps(flow.timelines.size());
  const std::vector<DeviceWait> waits = et_schema::waits_between(*program.profile);
  gaps.front() = Gaps(waits);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (const auto& timing = program.instructions[i].timing) {
      Gaps& own = gaps[flow.instructions[i].timeline];
      result.of_instruction[i] = own.before(timing->start_ns);
      own.pass(*timing);
    }
  }
  result.at_end = gaps.front().before(program.profile->step_ns);
  return result;
}

}  // namespace understudy::predictor
