#include "predictor/simulate/recorded_step.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {
namespace {

/// One timeline's launches and waits, consumed in order.
class Moments {
 public:
  void add(std::int64_t at_ns, std::optional<std::uint32_t> wait, std::optional<std::uint32_t> work,
           std::int64_t waits_ns, std::int64_t stall_ns = 0) {
    all_.push_back({at_ns, wait, work, waits_ns, stall_ns});
  }
  void sort() {
    // A launch at the start of a wait precedes the wait.
    std::ranges::stable_sort(all_, {}, [](const Moment& moment) {
      return std::pair(moment.at_ns, moment.wait.has_value());
    });
  }

  /// Returns the part until `end_ns`, with all remaining moments before `until_ns`.
  HostPart until(std::int64_t end_ns, std::int64_t until_ns) {
    HostPart part;
    const std::int64_t whole_ns = std::max<std::int64_t>(end_ns - now_ns_, 0);
    std::vector<std::int64_t> before_ns;
    std::int64_t waits_ns = 0;
    for (; next_ < all_.size() && all_[next_].at_ns < until_ns; ++next_) {
      const Moment& moment = all_[next_];
      const std::int64_t passed_ns =
          std::clamp<std::int64_t>(moment.at_ns - now_ns_, waits_ns, whole_ns);
      before_ns.push_back(passed_ns - waits_ns);
      waits_ns += std::min(moment.waits_ns, whole_ns - passed_ns);
      part.moments.push_back({0, moment.work, moment.wait, moment.stall_ns});
    }
    part.host_ns = whole_ns - waits_ns;
    for (std::size_t i = 0; i < before_ns.size() && part.host_ns > 0; ++i) {
      part.moments[i].share =
          std::min(static_cast<double>(before_ns[i]) / static_cast<double>(part.host_ns), 1.0);
    }
    now_ns_ = std::max(now_ns_, end_ns);
    return part;
  }

 private:
  struct Moment {
    std::int64_t at_ns = 0;
    std::optional<std::uint32_t> wait;
    std::optional<std::uint32_t> work;
    std::int64_t waits_ns = 0;  ///< time that the host waited, with `stall_ns`
    std::int64_t stall_ns = 0;
  };
  std::vector<Moment> all_;
  std::size_t next_ = 0;
  std::int64_t now_ns_ = 0;
};

std::vector<Moments> moments_of(const Program& program, const Flow& flow) {
  std::vector<Moments> moments(flow.timelines.size());
  const auto of_thread = [&](std::uint64_t thread) -> Moments& {
    const auto found = std::ranges::find(flow.timelines, thread);
    return found == flow.timelines.end()
               ? moments.front()
               : moments[static_cast<std::size_t>(found - flow.timelines.begin())];
  };
  for (std::uint32_t i = 0; i < program.device_work.size(); ++i) {
    const et_schema::DeviceWork& work = program.device_work[i];
    of_thread(work.thread).add(work.launch_ns, {}, i, 0);
  }
  for (std::uint32_t i = 0; i < program.profile->device_waits.size(); ++i) {
    const et_schema::DeviceWait& wait = program.profile->device_waits[i];
    // After a copy that it launched itself, a call moves the data on the host. Without device work
    // nothing tells what a call that takes long waits for.
    const bool is_copy = wait.work && program.device_work[*wait.work].launch_ns >= wait.start_ns;
    const bool stalls = wait.own_ns >= kLateNs && !is_copy && !program.device_work.empty();
    const std::int64_t stall_ns = stalls ? wait.own_ns : 0;
    of_thread(wait.thread)
        .add(wait.start_ns, i, {}, wait.host_ns - wait.own_ns + stall_ns, stall_ns);
  }
  std::ranges::for_each(moments, &Moments::sort);
  return moments;
}

}  // namespace

RecordedStep recorded_step(const Program& program, const Flow& flow) {
  const std::size_t count = program.instructions.size();
  RecordedStep step{std::vector<HostPart>(count), std::vector<HostPart>(count), {}};
  if (!program.profile) {
    return step;
  }
  constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();
  std::vector<Moments> moments = moments_of(program, flow);
  std::vector<std::uint32_t> last(flow.timelines.size());
  for (std::uint32_t at = 0; at < count; ++at) {
    if (const auto& timing = program.instructions[at].timing) {
      const std::uint32_t timeline = flow.instructions[at].timeline;
      const std::int64_t end_ns = timing->start_ns + timing->host_ns;
      step.gaps[at] = moments[timeline].until(timing->start_ns, timing->start_ns);
      step.calls[at] = moments[timeline].until(end_ns, end_ns);
      last[timeline] = at;
    }
  }
  step.end = moments.front().until(program.profile->step_ns, kEver);
  for (std::size_t timeline = 1; timeline < moments.size(); ++timeline) {
    for (const HostMoment& rest : moments[timeline].until(0, kEver).moments) {
      step.calls[last[timeline]].moments.push_back({1, rest.work, rest.wait});
    }
  }
  return step;
}

}  // namespace understudy::predictor
