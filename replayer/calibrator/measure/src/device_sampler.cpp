#include "device_sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>

namespace understudy::calibrator {

DeviceSampler::DeviceSampler(c10::Device device, std::int64_t swept_bytes)
    : swept_(at::empty({swept_bytes}, at::TensorOptions().dtype(at::kByte).device(device))),
      timer_(device, 1) {}

double DeviceSampler::time(BoundCall& call, double& host_ns) {
  using Clock = std::chrono::steady_clock;
  timer_.begin(0);
  const Clock::time_point begin = Clock::now();
  call.run();
  host_ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  timer_.end(0);
  constexpr double kNanoOfMilli = 1e6;
  return timer_.collect().front().value_or(0) * kNanoOfMilli;
}

DeviceSamples DeviceSampler::sample(BoundCall& call, const TimingLimits& limits) {
  DeviceSamples samples;
  call.restore();
  double host_ns = 0;
  // The first call loads kernels, and libraries select theirs.
  Repetitions repetitions(call, limits, time(call, host_ns));
  timer_.begin(0);
  call.run();
  timer_.end(0);
  timer_.end_rehearsal();
  while (repetitions.next()) {
    swept_.zero_();
    samples.cold_ns.push_back(time(call, host_ns));
    samples.host_ns.push_back(host_ns);
    swept_.zero_();
    call.run();
    samples.warm_ns.push_back(time(call, host_ns));
    samples.host_ns.push_back(host_ns);
    repetitions.spend(2 * samples.cold_ns.back() + samples.warm_ns.back());
  }
  return samples;
}

}  // namespace understudy::calibrator
