#include "issued_work.h"

#include <algorithm>
#include <limits>

namespace understudy::predictor {
namespace {

/// Upper limit of a profile's clock resolution for device events.
constexpr std::int64_t kClockStepNs = 1'000;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::min();

std::int64_t median_or(std::vector<std::int64_t>& samples, std::int64_t none) {
  const auto half = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, half);
  return samples.empty() ? none : *half;
}

}  // namespace

IssuedWork::IssuedWork(const Program& program, std::size_t streams)
    : program_(program),
      of_instruction_(program.instructions.size()),
      items_(streams),
      ends_ns_(streams) {
  for (std::uint32_t i = 0; i < program.device_work.size(); ++i) {
    if (const auto& instruction = program.device_work[i].instruction) {
      of_instruction_[*instruction].push_back(i);
    }
  }
  find_typical_turn();
}

/// Finds the median delays: on an idle stream after the launch, otherwise after the previous work.
void IssuedWork::find_typical_turn() {
  std::map<std::int64_t, std::int64_t> ends_ns;  // by stream
  std::vector<std::int64_t> latencies_ns;
  std::vector<std::int64_t> turns_ns;
  for (const et_schema::DeviceWork& work : program_.device_work) {
    const auto [end_ns, is_first] = ends_ns.try_emplace(work.stream, kNoEnd);
    // Work of an unknown launch, or that the previous step may have delayed, is not typical.
    if (work.thread != 0 && !(is_first && program_.profile->host_runs_ahead)) {
      const bool is_idle = end_ns->second <= work.start_ns - work.lag_ns;
      const std::int64_t delay_ns = is_idle ? work.lag_ns : work.start_ns - end_ns->second;
      if (delay_ns < kLateNs) {
        (is_idle ? latencies_ns : turns_ns).push_back(delay_ns);
      }
    }
    end_ns->second = std::max(end_ns->second, work.end_ns());
  }
  typical_ = {median_or(latencies_ns, DeviceTraits{}.launch_ns),
              std::max<std::int64_t>(median_or(turns_ns, DeviceTraits{}.kernel_gap_ns), 0)};
}

void IssuedWork::issue(std::uint32_t stream, std::span<const std::uint32_t> works,
                       std::uint32_t items) {
  std::uint32_t last = kNoIndex;
  for (const std::uint32_t work : works) {
    const et_schema::DeviceWork& issued = program_.device_work[work];
    std::int64_t& end_ns = ends_ns_[stream].try_emplace(issued.stream, kNoEnd).first->second;
    end_ns = std::max(end_ns, issued.end_ns());
    last = last == kNoIndex || issued.end_ns() >= program_.device_work[last].end_ns() ? work : last;
  }
  items_[stream].insert(items_[stream].end(), items, last);
}

std::uint32_t IssuedWork::first_of(std::span<const std::uint32_t> works) const {
  return *std::ranges::min_element(
      works, {}, [this](std::uint32_t work) { return program_.device_work[work].start_ns; });
}

StreamDep IssuedWork::ended_by(StreamDep dep, std::int64_t time_ns) const {
  const auto has_ended = [&](std::uint32_t work) {
    return work == kNoIndex || program_.device_work[work].end_ns() <= time_ns + kClockStepNs;
  };
  while (dep.items > 0 && !has_ended(items_[dep.stream][dep.items - 1])) {
    --dep.items;
  }
  return dep;
}

RecordedTurn IssuedWork::turn_of(std::uint32_t number, std::uint32_t stream,
                                 std::span<const StreamDep> after) const {
  const et_schema::DeviceWork& work = program_.device_work[number];
  std::int64_t ready_ns = kNoEnd;
  for (const auto& [recorded, end_ns] : ends_ns_[stream]) {
    if (recorded == work.stream || end_ns <= work.start_ns + kClockStepNs) {
      ready_ns = std::max(ready_ns, end_ns);
    }
  }
  for (const StreamDep& dep : after) {
    if (const std::uint32_t other = items_[dep.stream][dep.items - 1]; other != kNoIndex) {
      ready_ns = std::max(ready_ns, program_.device_work[other].end_ns());
    }
  }
  const std::int64_t short_ns = std::min(work.lag_ns, typical_.latency_ns);
  if (ready_ns == kNoEnd) {
    // The previous step may have delayed it.
    return {program_.profile->host_runs_ahead ? short_ns : work.lag_ns, typical_.turn_ns};
  }
  const std::int64_t turn_ns = work.start_ns - ready_ns;
  const bool is_late = work.start_ns - work.lag_ns + typical_.latency_ns >= ready_ns;
  return is_late ? RecordedTurn{work.lag_ns, std::min(turn_ns, typical_.turn_ns)}
                 : RecordedTurn{short_ns, turn_ns};
}

}  // namespace understudy::predictor
