#include "predictor/flow/host_gaps.h"

#include <algorithm>
#include <span>

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;

constexpr std::int64_t kCompletedEventNs = 10'000;

/// One timeline's recorded time that is in none of its instructions.
class Gaps {
 public:
  Gaps() = default;
  explicit Gaps(std::span<const DeviceWait> waits) : waits_(waits) {}

  HostGap before(std::int64_t begin_ns) {
    HostGap gap;
    std::int64_t before_ns = 0;
    while (!waits_.empty() && waits_.front().start_ns < last_end_ns_) {
      waits_ = waits_.subspan(1);  // a part of an instruction
    }
    for (; !waits_.empty() && waits_.front().start_ns < begin_ns; waits_ = waits_.subspan(1)) {
      const DeviceWait& wait = waits_.front();
      if (wait.waits_for == DeviceWait::For::kEvent && wait.host_ns < kCompletedEventNs) {
        continue;
      }
      if (!gap.wait) {
        before_ns = wait.start_ns - last_end_ns_;
      }
      gap.wait = gap.wait ? std::min(*gap.wait, wait.waits_for) : wait.waits_for;
      gap.wait_ns += std::min(wait.host_ns, begin_ns - wait.start_ns);
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

HostGaps host_gaps(const et_schema::Program& program, const Timelines& timelines) {
  HostGaps result;
  result.of_instruction.resize(program.instructions.size());
  if (!program.profile) {
    return result;
  }
  // The profile does not say what others than the step's own thread waited for.
  std::vector<Gaps> gaps(timelines.threads.size());
  gaps.front() = Gaps(program.profile->device_waits);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (const auto& timing = program.instructions[i].timing) {
      Gaps& own = gaps[timelines.of_instruction[i]];
      result.of_instruction[i] = own.before(timing->start_ns);
      own.pass(*timing);
    }
  }
  result.at_end = gaps.front().before(program.profile->step_ns);
  return result;
}

}  // namespace understudy::predictor
