#include "gpu_observation.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "cold_calls.h"
#include "collective_time.h"
#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/op_class.h"
#include "replayer/device/device.h"

namespace understudy::replayer {

GpuObservation::GpuObservation(c10::Device device) : device_(device) {
  if (device_.is_cpu()) {
    return;
  }
  try {
    monitor_ = std::make_unique<GpuMonitor>(nvml_library(), device_pci_bus_id(device_),
                                            device_uuid(device_));
  } catch (const et_schema::Error& error) {
    use_.no_health = error.summary() + ": " + error.context().got;
  }
}

void GpuObservation::begin_iteration() {
  reset_device_peak(device_);
  reset_device_counts(device_);
}

void GpuObservation::begin_window() {
  if (monitor_ != nullptr) {
    before_ = monitor_->read();
    sampler_.emplace(*monitor_);
    begin_ = Clock::now();
  }
}

et_schema::GpuHealth GpuObservation::take_window() {
  const std::chrono::duration<double> seconds = Clock::now() - begin_;
  GpuSampler::Result sampled = sampler_->stop();
  sampler_.reset();
  et_schema::GpuHealth health = gpu_health(*monitor_, before_, monitor_->read(), seconds.count());
  health.window_s = seconds.count();
  health.samples = std::move(sampled.samples);
  if (sampled.power_w) {
    health.mean_power_w = sampled.power_w;
    health.energy_j = *sampled.power_w * health.window_s;
  }
  return health;
}

void GpuObservation::end_restores(std::size_t restores) {
  if (monitor_ == nullptr) {
    return;
  }
  const et_schema::GpuHealth health = take_window();
  restore_s_ = health.window_s / static_cast<double>(restores);
  if (health.mean_power_w) {
    restore_j_ = *health.mean_power_w * restore_s_;
  }
}

void GpuObservation::end_window(std::size_t iterations, std::size_t restores) {
  if (monitor_ == nullptr) {
    return;
  }
  et_schema::GpuHealth health = take_window();
  health.window_iterations = iterations;
  health.restores = restores;
  if (restores > 0) {
    health.restore_s = restore_s_;
    health.restore_j = restore_j_;
  }
  const double restores_s = health.restore_s * static_cast<double>(restores);
  if (health.energy_j && health.restore_j && restores_s < health.window_s) {
    *health.energy_j -= *health.restore_j * static_cast<double>(restores);
    health.mean_power_w = *health.energy_j / (health.window_s - restores_s);
  }
  std::ranges::move(clock_warnings(health.samples), std::back_inserter(health.warnings));
  use_.health = std::move(health);
}

void GpuObservation::end_iteration() {
  using et_schema::DeviceMemory;
  const auto memory = device_memory(device_);
  if (!memory) {
    return;
  }
  DeviceMemory& all = use_.memory;
  for (const auto peak : {&DeviceMemory::peak_bytes, &DeviceMemory::peak_requested_bytes}) {
    all.*peak = std::max(all.*peak, (*memory).*peak);
  }
  // Keeps the first iteration's value: later ones include the memory of scans.
  all.peak_reserved_bytes =
      all.peak_reserved_bytes == 0 ? memory->peak_reserved_bytes : all.peak_reserved_bytes;
  for (const auto count : {&DeviceMemory::allocations, &DeviceMemory::driver_allocations,
                           &DeviceMemory::driver_frees, &DeviceMemory::retries}) {
    all.*count += (*memory).*count;
  }
}

void GpuObservation::report(std::optional<et_schema::GpuUse>& use) {
  if (!device_.is_cpu()) {
    use = std::move(use_);
  }
}

namespace {

/// Returns true if the step gives the device work: it computes, copies or communicates. A reshape
/// whose result is in another storage than its arguments is a copy.
bool works_on_device(const et_schema::Program& program, const Step& step) {
  if (step.kind == StepKind::kAlias || step.kind == StepKind::kGive) {
    return false;
  }
  if (step.source == nullptr || step.kind == StepKind::kStart) {
    return true;
  }
  if (et_schema::op_class(step.source->name) != "view") {
    return !et_schema::allocates_memory(step.source->name);
  }
  return !et_schema::returns_given_memory(program, *step.source);
}

}  // namespace

DeviceTimeHook::DeviceTimeHook(const et_schema::Program& program, const BoundProgram& bound,
                               c10::Device device, ColdCalls* cold)
    : bound_(bound),
      cold_(cold),
      timer_(device, bound.steps.size()),
      warm_timer_(device, cold == nullptr ? 0 : bound.steps.size()),
      passes_ms_(bound.steps.size()) {
  for (const Step& step : bound.steps) {
    is_timed_.push_back(works_on_device(program, step));
  }
}

void DeviceTimeHook::built(const Step& step) {
  const std::size_t i = index(step);
  if (!is_timed_[i]) {
    return;
  }
  if (!calls_cold(cold_, step)) {
    timer_.begin(i);
    return;
  }
  cold_->run(step, cold_->pairs(), [&](bool is_cold, const auto& call) {
    DeviceTimer& timer = is_cold ? timer_ : warm_timer_;
    timer.begin(i);
    call();
    timer.end(i);
  });
}

void DeviceTimeHook::called(const Step& step, const torch::jit::Stack& /*stack*/) {
  if (is_timed_[index(step)] && !calls_cold(cold_, step)) {
    timer_.end(index(step));
  }
}

void DeviceTimeHook::end_rehearsal() {
  timer_.end_rehearsal();
  warm_timer_.end_rehearsal();
}

namespace {

void add_pass(DeviceTimer& timer, std::vector<std::vector<double>>& passes_ms) {
  const std::vector<std::optional<double>> times_ms = timer.collect();
  for (std::size_t i = 0; i < times_ms.size(); ++i) {
    if (times_ms[i]) {
      passes_ms[i].push_back(*times_ms[i]);
    }
  }
}

}  // namespace

void DeviceTimeHook::end_pass() {
  add_pass(timer_, passes_ms_);
  if (cold_ != nullptr) {
    add_pass(warm_timer_, cold_->warm_device_ms);
  }
}

void DeviceTimeHook::report(std::vector<et_schema::OperatorTime>& operators) {
  struct Sum {
    double ms = 0;
    std::vector<double> samples_ms;
  };
  std::map<std::string, Sum> by_name;
  const std::vector<std::vector<double>> comms_ms = times_of_comms(bound_, passes_ms_);
  for (std::size_t i = 0; i < passes_ms_.size(); ++i) {
    const Step& step = bound_.steps[i];
    const std::vector<double>& times_ms =
        step.kind == StepKind::kStart ? comms_ms[step.index] : passes_ms_[i];
    if (times_ms.empty() || step.whole == nullptr) {
      continue;
    }
    Sum& sum = by_name[step.whole->name];
    sum.ms += et_schema::median(times_ms).value_or(0);
    sum.samples_ms.resize(times_ms.size());
    std::ranges::transform(times_ms, sum.samples_ms, sum.samples_ms.begin(), std::plus<>());
  }
  for (et_schema::OperatorTime& row : operators) {
    if (const auto found = by_name.find(row.name); found != by_name.end()) {
      row.device_ms = found->second.ms;
      row.device_samples_ms = std::move(found->second.samples_ms);
    }
  }
}

}  // namespace understudy::replayer
