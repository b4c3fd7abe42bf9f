#include "replayer/cuda/gpu_sampler.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace understudy::replayer {
namespace {

void include_least(std::optional<double>& least, const std::optional<double>& value) {
  least = least && value ? std::min(*least, *value) : least ? least : value;
}

void include_most(std::optional<double>& most, const std::optional<double>& value) {
  most = most && value ? std::max(*most, *value) : most ? most : value;
}

/// Includes `value` in the mean of `count` values.
void include_in_mean(std::optional<double>& mean, std::uint64_t& count,
                     const std::optional<double>& value) {
  if (value) {
    ++count;
    mean = mean.value_or(0) + (*value - mean.value_or(0)) / static_cast<double>(count);
  }
}

}  // namespace

void EnergyEdges::add(double time_s, double energy_j) {
  if (energy_j_ && *energy_j_ != energy_j) {
    last_ = {time_s, energy_j};
    first_ = changes_ == 0 ? last_ : first_;
    ++changes_;
  }
  energy_j_ = energy_j;
}

std::optional<double> EnergyEdges::power_w() const {
  const double seconds = last_.time_s - first_.time_s;
  return seconds > 0 ? std::optional((last_.energy_j - first_.energy_j) / seconds) : std::nullopt;
}

GpuSampler::GpuSampler(const GpuMonitor& monitor)
    : monitor_(monitor), thread_([this](const std::stop_token& stop) { sample(stop); }) {}

GpuSampler::Result GpuSampler::stop() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
  samples_.energy_changes = energy_.changes();
  samples_.power_is_instant = monitor_.tells_instant_power();
  for (auto& [reason, share] : samples_.throttled) {
    share /= static_cast<double>(samples_.count);
  }
  return {samples_, energy_.power_w()};
}

void GpuSampler::sample(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPeriod{2};
  const Clock::time_point begin = Clock::now();
  while (!stop.stop_requested()) {
    const et_schema::GpuState state = monitor_.read();
    take(state, std::chrono::duration<double>(Clock::now() - begin).count());
    std::this_thread::sleep_for(kPeriod);
  }
}

void GpuSampler::take(const et_schema::GpuState& state, double time_s) {
  ++samples_.count;
  include_least(samples_.sm_clock_min_mhz, state.sm_clock_mhz);
  include_in_mean(samples_.sm_clock_mean_mhz, clock_readings_, state.sm_clock_mhz);
  include_most(samples_.sm_clock_max_mhz, state.sm_clock_mhz);
  include_least(samples_.memory_clock_min_mhz, state.memory_clock_mhz);
  include_most(samples_.memory_clock_max_mhz, state.memory_clock_mhz);
  include_in_mean(samples_.power_mean_w, power_readings_, state.power_w);
  include_most(samples_.power_max_w, state.power_w);
  for (const std::string& reason : state.throttle_reasons) {
    samples_.throttled[reason] += 1;
  }
  if (state.energy_j) {
    energy_.add(time_s, *state.energy_j);
  }
}

}  // namespace understudy::replayer
