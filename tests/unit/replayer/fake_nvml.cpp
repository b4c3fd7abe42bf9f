// A driver's library of one GPU for tests: each reading moves on by one, and what it says is chosen
// by the variable FAKE_NVML: "throttled", held down from the second reading on; "hot", always; a
// number, the energy counter goes by the clock at 250.5 W and moves every so many milliseconds;
// "old", without power of the moment; "gpm", with counters (GPM), and "lost", but only for two
// samples of them. The energy is else the played GPU's where one is loaded
// (timed_card.h). The GPU has an instance (MIG).

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kGpuIsLost = 15;
int gpu = 0;
int readings = 0;
int samples = 0;

int instance = 0;

bool is_mode(const char* text) {
  const char* const mode = std::getenv("FAKE_NVML");
  return mode != nullptr && std::strstr(mode, text) != nullptr;
}

constexpr unsigned kMilliwatts = 250'500;
constexpr unsigned kMilliseconds = 1000;

/// How often a counter that goes by the clock moves. 0: there is none.
unsigned long long period_ms() {
  const char* const mode = std::getenv("FAKE_NVML");
  return mode == nullptr ? 0 : std::strtoull(mode, nullptr, 10);
}

bool is_throttled() {
  return is_mode("hot") || (is_mode("throttled") && readings > 1);
}

/// nvmlFieldValue_t.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  int status;
  unsigned long long value;
};

/// nvmlGpmSupport_t and the first metric of nvmlGpmMetricsGet_t.
struct GpmSupport {
  unsigned version;
  unsigned is_supported;
};
struct GpmMetrics {
  unsigned version;
  unsigned count;
  const int* first;
  const int* second;
  unsigned id;
  int status;
  double value;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  readings = 0;
  samples = 0;
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}
const char* nvmlErrorString(int status) {
  return status == kNotFound ? "Not Found" : status == kGpuIsLost ? "GPU is lost" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::strncpy(text, "580.65.06", bytes);
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, int** device) {
  *device = &gpu;
  return index == 0 ? kSuccess : kNotFound;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, int** device) {
  *device = &gpu;
  return std::string(bus) == "0000:10:00.0" ? kSuccess : kNotFound;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, int** device) {
  const std::string text = uuid;
  const bool is_whole = text == "GPU-01000000-0000-0000-0000-000000000000";
  *device = is_whole ? &gpu : &instance;
  return is_whole || text == "MIG-11112233-4455-6677-8899-aabbccddeeff" ? kSuccess : kNotFound;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(int* device, int** whole) {
  *whole = &gpu;
  return device == &instance ? kSuccess : kNotFound;
}
int nvmlDeviceGetName(int* device, char* text, unsigned bytes) {
  std::strncpy(text, device == &instance ? "A Fake GPU MIG 1g.5gb" : "A Fake GPU", bytes);
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(int* device, unsigned* milliwatts) {
  *milliwatts = 200000;
  return device == &instance ? kNotFound : kSuccess;
}
int nvmlDeviceGetFieldValues(int* device, int count, FieldValue* values) {
  constexpr unsigned kInstantPower = 186;
  if (device == &instance || count != 1 || values->field != kInstantPower || is_mode("old")) {
    return kNotFound;
  }
  values->type = 1;
  values->status = kSuccess;
  values->value = kMilliwatts;
  return kSuccess;
}
int nvmlDeviceGetEnforcedPowerLimit(int*, unsigned* milliwatts) {
  ++readings;  // once in each reading
  *milliwatts = 700000;
  return kSuccess;
}
int nvmlDeviceGetTotalEnergyConsumption(int*, unsigned long long* millijoules) {
  if (const unsigned long long period = period_ms(); period > 0) {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    *millijoules =
        static_cast<unsigned long long>(ms) / period * period * kMilliwatts / kMilliseconds;
    return kSuccess;
  }
  using Energy = unsigned long long (*)();
  const auto played = reinterpret_cast<Energy>(dlsym(RTLD_DEFAULT, "played_energy_millijoules"));
  constexpr unsigned long long kOfReading = 1'000'000;
  *millijoules =
      played != nullptr ? played() : kOfReading * static_cast<unsigned long long>(readings);
  return kSuccess;
}
int nvmlDeviceGetClockInfo(int*, int clock, unsigned* megahertz) {
  constexpr int kSm = 1;
  *megahertz = clock == kSm ? (is_throttled() ? 1200U : 1980U) : 2619U;
  return kSuccess;
}
int nvmlDeviceGetMaxClockInfo(int*, int, unsigned* megahertz) {
  *megahertz = 1980;
  return kSuccess;
}
int nvmlDeviceGetTemperature(int*, int, unsigned*) {
  return kNotFound;  // as of a GPU without that sensor
}
int nvmlDeviceGetCurrentClocksThrottleReasons(int*, unsigned long long* bits) {
  *bits = is_throttled() ? 0x44 : 0x1;
  return kSuccess;
}
int nvmlGpmQueryDeviceSupport(int*, GpmSupport* support) {
  support->is_supported = is_mode("gpm") ? 1 : 0;
  return support->version == 1 ? kSuccess : kInvalidArgument;
}
int nvmlGpmSampleAlloc(int** sample) {
  *sample = new int(0);
  return kSuccess;
}
int nvmlGpmSampleFree(int* sample) {
  delete sample;
  return kSuccess;
}
int nvmlGpmSampleGet(int* device, int* sample) {
  *sample = ++samples;
  return device == &instance ? kInvalidArgument
                             : (is_mode("lost") && samples > 2 ? kGpuIsLost : kSuccess);
}
int nvmlDeviceGetGpuInstanceId(int* device, unsigned* id) {
  *id = 7;
  return device == &instance ? kSuccess : kInvalidArgument;
}
int nvmlGpmMigSampleGet(int* device, unsigned id, int* sample) {
  *sample = ++samples;
  return device == &gpu && id == 7 ? kSuccess : kInvalidArgument;
}
/// Percent, and MiB/s from 20 on. This GPU lacks 8 and 61, and cannot say 9.
int nvmlGpmMetricsGet(GpmMetrics* metrics) {
  static const std::map<unsigned, double> values = {{2, 75},   {3, 40},   {5, 44},  {6, 1.5},
                                                    {7, 42.5}, {9, NAN},  {10, 60}, {20, 96},
                                                    {21, 32},  {60, 2000}};
  const auto found = values.find(metrics->id);
  metrics->status = found == values.end() ? kNotSupported : kSuccess;
  metrics->value = found == values.end() ? 0 : found->second;
  return metrics->version == 1 && metrics->count == 1 && *metrics->second == *metrics->first + 1
             ? kSuccess
             : kInvalidArgument;
}
}
