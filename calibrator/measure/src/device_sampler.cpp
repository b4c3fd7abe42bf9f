#include "device_sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>

#include "replayer/device/device.h"

namespace understudy::calibrator {
namespace {

/// Values that operators change in place are restored after so many calls.
constexpr std::size_t kCallsBetweenRestores = 8;
constexpr double kNano = 1e9;
constexpr double kNanoOfMilli = 1e6;
constexpr double kSlowNs = 0.25 * kNano;

}  // namespace

DeviceSampler::DeviceSampler(c10::Device device, std::int64_t swept_bytes)
    : device_(device),
      swept_(at::empty({swept_bytes}, at::TensorOptions().dtype(at::kByte).device(device))),
      timer_(device, 1) {}

double DeviceSampler::time(BoundCall& call, double& host_ns) {
  using Clock = std::chrono::steady_clock;
  timer_.begin(0);
  const Clock::time_point begin = Clock::now();
  call.run();
  host_ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  timer_.end(0);
  return timer_.collect().front().value_or(0) * kNanoOfMilli;
}

DeviceSamples DeviceSampler::sample(BoundCall& call, const TimingLimits& limits) {
  DeviceSamples samples;
  call.restore();
  double host_ns = 0;
  // Kernels are loaded, and libraries choose theirs.
  const std::size_t least = time(call, host_ns) > kSlowNs ? 1 : limits.least;
  double spent_ns = 0;
  while (samples.cold_ns.size() < least ||
         (samples.cold_ns.size() < limits.most && spent_ns < limits.seconds * kNano)) {
    if (samples.cold_ns.size() % kCallsBetweenRestores == 0) {
      call.restore();
    }
    swept_.zero_();
    samples.cold_ns.push_back(time(call, host_ns));
    samples.host_ns.push_back(host_ns);
    swept_.zero_();
    call.run();
    samples.warm_ns.push_back(time(call, host_ns));
    samples.host_ns.push_back(host_ns);
    spent_ns += 2 * samples.cold_ns.back() + samples.warm_ns.back();
  }
  return samples;
}

}  // namespace understudy::calibrator
