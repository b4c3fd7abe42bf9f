#include "gpm.h"

#include <array>

namespace understudy::replayer {
namespace {

/// A counter from one or two metrics of GPM (nvmlGpmMetricId_t): a share in percent of the first
/// that the GPU has, or the sum of both in MiB/s.
struct GpmCounter {
  const char* name;
  unsigned first;
  unsigned second;
  bool is_rate = false;
};
constexpr std::array<GpmCounter, 9> kGpmCounters = {{
    {"sm_active", 2, 2},
    {"occupancy", 3, 3},
    {"tensor_active", 5, 5},
    {"tensor_fp16_active", 7, 7},
    {"tensor_fp64_active", 8, 6},  // DMMA; an older NVML has DFMA
    {"tensor_int_active", 9, 9},
    {"dram_active", 10, 10},
    {"nvlink_bytes", 60, 61, true},
    {"pcie_bytes", 20, 21, true},
}};
constexpr double kOfPercent = 0.01;
constexpr double kBytesOfMebibyte = 1 << 20;

}  // namespace

GpmSource::GpmSource(const std::string& library, const std::string& pci_bus_id,
                     const std::string& uuid)
    : monitor_(library, pci_bus_id, uuid), before_(monitor_.gpm_sample()) {}

/// The driver reports the energy of whole GPUs only.
std::optional<double> GpmSource::energy_j() const {
  return monitor_.is_of_instance() ? std::nullopt : monitor_.read().energy_j;
}

std::vector<std::string> GpmSource::names() const {
  std::vector<std::string> names;
  for (const GpmCounter& counter : kGpmCounters) {
    names.emplace_back(counter.name);
  }
  if (energy_j()) {
    names.insert(names.end(), {"power_w", "energy_j"});
  }
  return names;
}

void GpmSource::read_before() {
  energy_before_j_ = energy_j();
  before_ = monitor_.gpm_sample();
  begin_ = Clock::now();
}

et_schema::Counters GpmSource::read_after() {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  const std::shared_ptr<void> after = monitor_.gpm_sample();
  const std::optional<double> energy_after_j = energy_j();
  et_schema::Counters counters;
  for (const GpmCounter& counter : kGpmCounters) {
    const std::optional<double> first = monitor_.gpm_mean(before_, after, counter.first);
    const std::optional<double> second = monitor_.gpm_mean(before_, after, counter.second);
    if (!counter.is_rate && (first || second)) {
      counters[counter.name] = kOfPercent * (first ? *first : *second);
    } else if (first && second) {
      counters[counter.name] = kBytesOfMebibyte * seconds * (*first + *second);
    }
  }
  if (energy_before_j_ && energy_after_j) {
    counters["energy_j"] = *energy_after_j - *energy_before_j_;
    counters["power_w"] = counters["energy_j"] / seconds;
  }
  return counters;
}

}  // namespace understudy::replayer
