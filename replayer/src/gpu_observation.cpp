#include "gpu_observation.h"

#include <algorithm>
#include <map>

#include "et_schema/error.h"
#include "replayer/device.h"

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

void GpuObservation::begin() {
  if (device_.is_cpu()) {
    return;
  }
  reset_device_counts(device_);
  if (monitor_ != nullptr) {
    before_ = monitor_->read();
  }
  begin_ = Clock::now();
}

void GpuObservation::note_iteration() {
  const auto memory = device_memory(device_);
  if (!memory) {
    return;
  }
  et_schema::DeviceMemory highest = *memory;  // counts go on; peaks start again each iteration
  for (const auto peak :
       {&et_schema::DeviceMemory::peak_bytes, &et_schema::DeviceMemory::peak_requested_bytes,
        &et_schema::DeviceMemory::peak_reserved_bytes}) {
    highest.*peak = std::max(highest.*peak, use_.memory.*peak);
  }
  use_.memory = highest;
}

void GpuObservation::end(std::optional<et_schema::GpuUse>& use) {
  if (device_.is_cpu()) {
    return;
  }
  if (monitor_ != nullptr) {
    const et_schema::GpuState after = monitor_->read();
    const std::chrono::duration<double> seconds = Clock::now() - begin_;
    use_.health = gpu_health(*monitor_, before_, after, seconds.count());
  }
  use = std::move(use_);
}

void DeviceTimeHook::report(std::vector<et_schema::OperatorTime>& operators) {
  const std::vector<std::optional<double>> times_ms = timer_.collect();
  std::map<std::string, double> by_name;
  for (std::size_t i = 0; i < times_ms.size(); ++i) {
    if (times_ms[i] && program_.steps[i].source != nullptr) {
      by_name[program_.steps[i].source->name] += *times_ms[i];
    }
  }
  for (et_schema::OperatorTime& row : operators) {
    if (const auto found = by_name.find(row.name); found != by_name.end()) {
      row.device_ms = found->second;
    }
  }
}

}  // namespace understudy::replayer
