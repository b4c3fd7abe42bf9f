#include "replayer/cuda/nvml.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "et_schema/base/shared_library.h"

namespace understudy::replayer {
namespace {

using et_schema::GpuState;

// The part of NVML's interface in use, from its documentation: the toolkit has no nvml.h.
using NvmlDevice = struct NvmlDeviceRecord*;
using NvmlStatus = int;
constexpr NvmlStatus kSuccess = 0;
constexpr NvmlStatus kFunctionNotFound = 13;
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

/// NVML's nvmlGpmSupport_t, nvmlGpmMetric_t and nvmlGpmMetricsGet_t.
struct GpmSupport {
  unsigned version = 1;
  unsigned is_supported = 0;
};
struct GpmMetric {
  unsigned id = 0;
  NvmlStatus status = kSuccess;
  double value = 0;
  const char* texts[3] = {};  ///< two names and the unit
};
struct GpmMetrics {
  unsigned version = 1;
  unsigned count = 1;
  void* first = nullptr;
  void* second = nullptr;
  std::array<GpmMetric, 512> metrics;  ///< no version of NVML has more
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetrics, metrics) == 24);

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

et_schema::Error cannot_count(const char* function, std::string got) {
  return et_schema::run_failed("the GPU's counters (GPM) cannot be read",
                               {.field = function, .expected = "success", .got = std::move(got)});
}

}  // namespace

/// The functions in use. Functions that older drivers lack may be null.
struct GpuMonitor::Library {
  template <typename... Parameters>
  using Function = et_schema::StatusFunction<Parameters...>;

  explicit Library(const std::string& file)
      : library(file, RTLD_LOCAL, cannot_read), same(file, RTLD_LOCAL) {
    library.find(error_text, "nvmlErrorString");
    if (!throttle_reasons) {  // the older name
      throttle_reasons = {same, "nvmlDeviceGetCurrentClocksThrottleReasons"};
    }
  }

  et_schema::SharedLibrary library;
  et_schema::SharedLibrary same;  ///< without a refusal: functions that it lacks are null
  NvmlDevice device = nullptr;    ///< the GPU whose figures are read
  NvmlDevice instance = nullptr;  ///< the process's part of the GPU (MIG)
  bool has_instant_power = false;
  const char* (*error_text)(NvmlStatus) = nullptr;
  Function<> init{library, "nvmlInit_v2"};
  Function<> shutdown{library, "nvmlShutdown"};
  Function<unsigned, NvmlDevice*> by_index{library, "nvmlDeviceGetHandleByIndex_v2"};
  Function<const char*, NvmlDevice*> by_bus_id{library, "nvmlDeviceGetHandleByPciBusId_v2"};
  Function<char*, unsigned> driver_version{same, "nvmlSystemGetDriverVersion"};
  Function<const char*, NvmlDevice*> by_uuid{same, "nvmlDeviceGetHandleByUUID"};
  Function<NvmlDevice, NvmlDevice*> whole_of{same, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"};
  Function<NvmlDevice, unsigned*> instance_id{same, "nvmlDeviceGetGpuInstanceId"};
  Function<NvmlDevice, int, FieldValue*> field_values{same, "nvmlDeviceGetFieldValues"};
  Function<NvmlDevice, char*, unsigned> name{same, "nvmlDeviceGetName"};
  Function<NvmlDevice, unsigned*> power_mw{same, "nvmlDeviceGetPowerUsage"};
  Function<NvmlDevice, unsigned*> power_limit_mw{same, "nvmlDeviceGetEnforcedPowerLimit"};
  Function<NvmlDevice, unsigned long long*> energy_mj{same, "nvmlDeviceGetTotalEnergyConsumption"};
  Function<NvmlDevice, int, unsigned*> clock_mhz{same, "nvmlDeviceGetClockInfo"};
  Function<NvmlDevice, int, unsigned*> most_mhz{same, "nvmlDeviceGetMaxClockInfo"};
  Function<NvmlDevice, int, unsigned*> temperature_c{same, "nvmlDeviceGetTemperature"};
  Function<NvmlDevice, unsigned long long*> throttle_reasons{
      same, "nvmlDeviceGetCurrentClocksEventReasons"};
  Function<NvmlDevice, GpmSupport*> gpm_support{same, "nvmlGpmQueryDeviceSupport"};
  Function<void**> gpm_allocate{same, "nvmlGpmSampleAlloc"};
  Function<void*> gpm_free{same, "nvmlGpmSampleFree"};
  Function<NvmlDevice, void*> gpm_get{same, "nvmlGpmSampleGet"};
  Function<NvmlDevice, unsigned, void*> gpm_get_of_instance{same, "nvmlGpmMigSampleGet"};
  Function<GpmMetrics*> gpm_metrics{same, "nvmlGpmMetricsGet"};

  /// Opens the GPU. An instance of a GPU (MIG) has no clocks or power of its own.
  [[nodiscard]] NvmlStatus open(const std::string& pci_bus_id, const std::string& uuid) {
    if (by_uuid && !uuid.empty()) {
      if (by_uuid(("GPU-" + uuid).c_str(), &device) == kSuccess) {
        return kSuccess;
      }
      if (by_uuid(("MIG-" + uuid).c_str(), &instance) == kSuccess && whole_of &&
          whole_of(instance, &device) == kSuccess) {
        return kSuccess;
      }
      instance = nullptr;
    }
    return pci_bus_id.empty() ? by_index(0, &device) : by_bus_id(pci_bus_id.c_str(), &device);
  }

  /// Returns the power in milliwatts.
  [[nodiscard]] std::optional<unsigned> instant_power() const {
    FieldValue power{.field = kInstantPower};
    if (!field_values || field_values(device, 1, &power) != kSuccess || power.status != kSuccess ||
        power.type != kUnsigned) {
      return std::nullopt;
    }
    return power.value.as_unsigned;
  }

  /// Returns a figure of the device, for one of several clocks or sensors; nothing if the function
  /// is missing or fails.
  template <typename Number = unsigned, typename Called, typename... Kind>
  [[nodiscard]] std::optional<Number> figure(const Called& function, Kind... kind) const {
    Number value = 0;
    return function && function(device, kind..., &value) == kSuccess ? std::optional(value)
                                                                     : std::nullopt;
  }

  /// Calls a function of GPM.
  template <typename... Parameters, typename... Arguments>
  void count(const Function<Parameters...>& function, Arguments... arguments) const {
    const NvmlStatus status = function ? function(arguments...) : kFunctionNotFound;
    if (status != kSuccess) {
      throw cannot_count(function.name, error_text(status));
    }
  }
};

std::string nvml_library() {
  const char* const named = std::getenv("UNDERSTUDY_NVML");
  return named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
}

GpuMonitor::GpuMonitor(const std::string& library, const std::string& pci_bus_id,
                       const std::string& uuid)
    : library_(std::make_unique<Library>(library)) {
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
  if (!library_->name || library_->name(named, text.data(), kTextBytes) != kSuccess) {
    return {};
  }
  return text.data();
}

std::string GpuMonitor::driver_version() const {
  std::array<char, kTextBytes> text{};
  if (!library_->driver_version || library_->driver_version(text.data(), kTextBytes) != kSuccess) {
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
  state.energy_j = in_thousands(library_->figure<unsigned long long>(library_->energy_mj));
  state.sm_clock_mhz = library_->figure(library_->clock_mhz, kSmClock);
  state.sm_clock_limit_mhz = library_->figure(library_->most_mhz, kSmClock);
  state.memory_clock_mhz = library_->figure(library_->clock_mhz, kMemoryClock);
  state.temperature_c = library_->figure(library_->temperature_c, kGpuTemperature);
  if (const auto bits = library_->figure<unsigned long long>(library_->throttle_reasons)) {
    state.throttle_reasons = reasons_of(*bits);
  }
  return state;
}

std::shared_ptr<void> GpuMonitor::gpm_sample() const {
  GpmSupport support;
  library_->count(library_->gpm_support, library_->device, &support);
  if (support.is_supported == 0) {
    throw cannot_count(library_->gpm_support.name, name() + " is older than Hopper");
  }
  void* memory = nullptr;
  library_->count(library_->gpm_allocate, &memory);
  std::shared_ptr<void> sample(memory, library_->gpm_free.call);
  if (is_of_instance()) {
    unsigned id = 0;
    library_->count(library_->instance_id, library_->instance, &id);
    library_->count(library_->gpm_get_of_instance, library_->device, id, memory);
  } else {
    library_->count(library_->gpm_get, library_->device, memory);
  }
  return sample;
}

std::optional<double> GpuMonitor::gpm_mean(const std::shared_ptr<void>& first,
                                           const std::shared_ptr<void>& second,
                                           unsigned metric) const {
  GpmMetrics asked{.first = first.get(), .second = second.get(), .metrics = {}};
  GpmMetric& answer = asked.metrics.front();
  answer.id = metric;
  const bool is_known = library_->gpm_metrics && library_->gpm_metrics(&asked) == kSuccess &&
                        answer.status == kSuccess && std::isfinite(answer.value);
  return is_known ? std::optional(answer.value) : std::nullopt;
}

}  // namespace understudy::replayer
