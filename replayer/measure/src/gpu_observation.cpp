#include "gpu_observation.h"

#include <algorithm>
#include <map>

#include "et_schema/support/error.h"
#include "median.h"
#include "replayer/device/device.h"

namespace understudy::replayer {

GpuObservation::GpuObservation(c10::Device device) : device_(device) {
  if (device_.is_cpu()) {
    return;
  }
  try {
    monitor_ = std::make_unique<GpuMonitor>(nvml_library(), device_pci_bus_id(device_));
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
    begin_ = Clock::now();
  }
}

void GpuObservation::end_window(std::size_t iterations) {
  if (monitor_ == nullptr) {
    return;
  }
  const std::chrono::duration<double> seconds = Clock::now() - begin_;
  use_.health = gpu_health(*monitor_, before_, monitor_->read(), seconds.count());
  use_.health->window_s = seconds.count();
  use_.health->window_iterations = iterations;
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
  // Of the first iteration: what a scan takes behind it stays with the allocator.
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

void DeviceTimeHook::end_pass() {
  const std::vector<std::optional<double>> times_ms = timer_.collect();
  for (std::size_t i = 0; i < times_ms.size(); ++i) {
    if (times_ms[i]) {
      passes_ms_[i].push_back(*times_ms[i]);
    }
  }
}

void DeviceTimeHook::report(std::vector<et_schema::OperatorTime>& operators) {
  std::map<std::string, double> by_name;
  for (std::size_t i = 0; i < passes_ms_.size(); ++i) {
    if (!passes_ms_[i].empty() && program_.steps[i].source != nullptr) {
      by_name[program_.steps[i].source->name] += median(passes_ms_[i]);
    }
  }
  for (et_schema::OperatorTime& row : operators) {
    if (const auto found = by_name.find(row.name); found != by_name.end()) {
      row.device_ms = found->second;
    }
  }
}

}  // namespace understudy::replayer
