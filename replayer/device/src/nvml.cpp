#include "replayer/device/nvml.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "et_schema/base/shared_library.h"

namespace understudy::replayer {
namespace {

using et_schema::GpuState;

// The part of NVML's interface in use, from its documentation: the toolkit has no nvml.h.
using NvmlDevice = struct NvmlDeviceRecord*;
using NvmlStatus = int;
constexpr NvmlStatus kSuccess = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuTemperature = 0;
constexpr unsigned kTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, for names and versions

constexpr double kMilli = 1e-3;

/// NVML's nvmlFieldValue_t.
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency_us = 0;
  int type = 0;
  NvmlStatus status = kSuccess;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_long;
  } value = {};
};
static_assert(sizeof(FieldValue) == 40);
constexpr unsigned kInstantPower = 186;  // NVML_FI_DEV_POWER_INSTANT, in milliwatts
constexpr int kUnsigned = 1;             // NVML_VALUE_TYPE_UNSIGNED_INT

struct ThrottleReason {
  std::uint64_t bit;
  const char* name;
};
constexpr std::array<ThrottleReason, 9> kReasons = {{
    {0x1, "gpu_idle"},
    {0x2, "applications_clocks_setting"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
    {0x100, "display_clock_setting"},
}};

std::vector<std::string> reasons_of(std::uint64_t bits) {
  std::vector<std::string> names;
  for (const ThrottleReason& reason : kReasons) {
    if ((bits & reason.bit) != 0) {
      names.emplace_back(reason.name);
      bits &= ~reason.bit;
    }
  }
  if (bits != 0) {
    names.push_back(fmt::format("unknown ({:#x})", bits));
  }
  return names;
}

et_schema::Error cannot_read(std::string expected, std::string got) {
  return et_schema::run_failed(
      "the state of the GPU cannot be read",
      {.field = "NVML",
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = "It comes with NVIDIA's driver. In a container it is there if the runtime was asked "
               "for the utility capability (NVIDIA_DRIVER_CAPABILITIES)."});
}

}  // namespace

/// The functions in use. Functions that older drivers lack may be null.
struct GpuMonitor::Library {
  explicit Library(const std::string& file) : library(file, RTLD_LOCAL, cannot_read) {}

  et_schema::SharedLibrary library;
  NvmlDevice device = nullptr;    ///< the GPU whose figures are read
  NvmlDevice instance = nullptr;  ///< the process's part of the GPU (MIG)
  bool has_instant_power = false;
  NvmlStatus (*init)() = nullptr;
  NvmlStatus (*shutdown)() = nullptr;
  const char* (*error_text)(NvmlStatus) = nullptr;
  NvmlStatus (*driver_version)(char*, unsigned) = nullptr;
  NvmlStatus (*by_bus_id)(const char*, NvmlDevice*) = nullptr;
  NvmlStatus (*by_index)(unsigned, NvmlDevice*) = nullptr;
  NvmlStatus (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  NvmlStatus (*whole_of)(NvmlDevice, NvmlDevice*) = nullptr;
  NvmlStatus (*field_values)(NvmlDevice, int, FieldValue*) = nullptr;
  NvmlStatus (*name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlStatus (*power_mw)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*power_limit_mw)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*energy_mj)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlStatus (*clock_mhz)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*most_mhz)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*temperature_c)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*throttle_reasons)(NvmlDevice, unsigned long long*) = nullptr;

  template <typename Function>
  void seek(Function*& function, const char* symbol) const {
    function = library.function<Function>(symbol);
  }
  void find_all() {
    library.find(init, "nvmlInit_v2");
    library.find(shutdown, "nvmlShutdown");
    library.find(error_text, "nvmlErrorString");
    library.find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    library.find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    seek(driver_version, "nvmlSystemGetDriverVersion");
    seek(by_uuid, "nvmlDeviceGetHandleByUUID");
    seek(whole_of, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    seek(field_values, "nvmlDeviceGetFieldValues");
    seek(name, "nvmlDeviceGetName");
    seek(power_mw, "nvmlDeviceGetPowerUsage");
    seek(power_limit_mw, "nvmlDeviceGetEnforcedPowerLimit");
    seek(energy_mj, "nvmlDeviceGetTotalEnergyConsumption");
    seek(clock_mhz, "nvmlDeviceGetClockInfo");
    seek(most_mhz, "nvmlDeviceGetMaxClockInfo");
    seek(temperature_c, "nvmlDeviceGetTemperature");
    seek(throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (throttle_reasons == nullptr) {
      seek(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // the older name
    }
  }

  /// Opens the GPU. An instance of a GPU (MIG) has no clocks or power of its own.
  [[nodiscard]] NvmlStatus open(const std::string& pci_bus_id, const std::string& uuid) {
    if (by_uuid != nullptr && !uuid.empty()) {
      if (by_uuid(("GPU-" + uuid).c_str(), &device) == kSuccess) {
        return kSuccess;
      }
      if (by_uuid(("MIG-" + uuid).c_str(), &instance) == kSuccess && whole_of != nullptr &&
          whole_of(instance, &device) == kSuccess) {
        return kSuccess;
      }
      instance = nullptr;
    }
    return pci_bus_id.empty() ? by_index(0, &device) : by_bus_id(pci_bus_id.c_str(), &device);
  }

  /// Returns the power in milliwatts.
  [[nodiscard]] std::optional<double> instant_power() const {
    FieldValue power{.field = kInstantPower};
    if (field_values == nullptr || field_values(device, 1, &power) != kSuccess ||
        power.status != kSuccess || power.type != kUnsigned) {
      return std::nullopt;
    }
    return static_cast<double>(power.value.as_unsigned);
  }

  /// Returns a figure of the device; nothing if the function is missing or fails.
  template <typename Number>
  [[nodiscard]] std::optional<double> figure(NvmlStatus (*function)(NvmlDevice, Number*)) const {
    Number value = 0;
    if (function == nullptr || function(device, &value) != kSuccess) {
      return std::nullopt;
    }
    return static_cast<double>(value);
  }
  /// Likewise for one of several clocks or sensors.
  [[nodiscard]] std::optional<double> figure(NvmlStatus (*function)(NvmlDevice, int, unsigned*),
                                             int kind) const {
    unsigned value = 0;
    if (function == nullptr || function(device, kind, &value) != kSuccess) {
      return std::nullopt;
    }
    return static_cast<double>(value);
  }
};

std::string nvml_library() {
  const char* const named = std::getenv("UNDERSTUDY_NVML");
  return named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
}

GpuMonitor::GpuMonitor(const std::string& library, const std::string& pci_bus_id,
                       const std::string& uuid)
    : library_(std::make_unique<Library>(library)) {
  library_->find_all();
  NvmlStatus status = library_->init();
  if (status == kSuccess) {
    status = library_->open(pci_bus_id, uuid);
    if (status != kSuccess) {
      library_->shutdown();
    }
  }
  if (status != kSuccess) {
    throw cannot_read(pci_bus_id.empty() ? "a GPU" : "a GPU at " + pci_bus_id,
                      library_->error_text(status));
  }
  library_->has_instant_power = library_->instant_power().has_value();
}

// The library stays loaded, since other code in the process may use it.
GpuMonitor::~GpuMonitor() {
  library_->shutdown();
}

std::string GpuMonitor::name() const {
  std::array<char, kTextBytes> text{};
  const NvmlDevice named = is_of_instance() ? library_->instance : library_->device;
  if (library_->name == nullptr || library_->name(named, text.data(), kTextBytes) != kSuccess) {
    return {};
  }
  return text.data();
}

std::string GpuMonitor::driver_version() const {
  std::array<char, kTextBytes> text{};
  if (library_->driver_version == nullptr ||
      library_->driver_version(text.data(), kTextBytes) != kSuccess) {
    return {};
  }
  return text.data();
}

bool GpuMonitor::tells_instant_power() const {
  return library_->has_instant_power;
}

bool GpuMonitor::is_of_instance() const {
  return library_->instance != nullptr;
}

GpuState GpuMonitor::read() const {
  const auto in_thousands = [](std::optional<double> value) {
    return value ? std::optional(*value * kMilli) : std::nullopt;
  };
  GpuState state;
  state.power_w = in_thousands(library_->has_instant_power ? library_->instant_power()
                                                           : library_->figure(library_->power_mw));
  state.power_limit_w = in_thousands(library_->figure(library_->power_limit_mw));
  state.energy_j = in_thousands(library_->figure(library_->energy_mj));
  state.sm_clock_mhz = library_->figure(library_->clock_mhz, kSmClock);
  state.sm_clock_limit_mhz = library_->figure(library_->most_mhz, kSmClock);
  state.memory_clock_mhz = library_->figure(library_->clock_mhz, kMemoryClock);
  state.temperature_c = library_->figure(library_->temperature_c, kGpuTemperature);
  unsigned long long bits = 0;
  if (library_->throttle_reasons != nullptr &&
      library_->throttle_reasons(library_->device, &bits) == kSuccess) {
    state.throttle_reasons = reasons_of(bits);
  }
  return state;
}

}  // namespace understudy::replayer
