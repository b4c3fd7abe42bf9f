#include "energy_meter.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "et_schema/base/error.h"
#include "replayer/cuda/gpu_sampler.h"

namespace understudy::calibrator {

EnergyMeter::EnergyMeter(const std::string& library, const std::string& pci_bus_id, double seconds)
    : monitor_(library, pci_bus_id), seconds_(seconds) {
  static_cast<void>(energy_j());
}

double EnergyMeter::energy_j() const {
  const std::optional<double> energy_j = monitor_.read().energy_j;
  if (!energy_j) {
    throw et_schema::run_failed("the energy of calls cannot be measured",
                                {.field = "--energy",
                                 .expected = "a GPU that counts its energy",
                                 .got = monitor_.name(),
                                 .hint = "NVML tells it from the Volta generation on. Calibrate "
                                         "without --energy."});
  }
  return *energy_j;
}

double EnergyMeter::joules_of(const std::function<void()>& run,
                              const std::function<void()>& wait) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kMostAtOnce = 4096;  // a longer queue may block the host
  wait();
  const double before_j = energy_j();
  replayer::GpuSampler sampler(monitor_);
  const Clock::time_point begin = Clock::now();
  std::uint64_t calls = 0;
  std::uint64_t at_once = 1;
  do {
    for (std::uint64_t i = 0; i < at_once; ++i) {
      run();
    }
    wait();
    calls += at_once;
    at_once = std::min(2 * at_once, kMostAtOnce);
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds_);
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  const std::optional<double> power_w = sampler.stop().power_w;
  const double joules = power_w ? *power_w * seconds.count() : energy_j() - before_j;
  return joules / static_cast<double>(calls);
}

}  // namespace understudy::calibrator
