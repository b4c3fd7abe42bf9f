#include "report_gpu.h"

#include <array>
#include <cmath>
#include <utility>

namespace understudy::et_schema {
namespace {

using Json = nlohmann::ordered_json;

struct StateKey {
  const char* key;
  std::optional<double> GpuState::*figure;
};
constexpr std::array<StateKey, 7> kStateKeys = {{
    {"power_w", &GpuState::power_w},
    {"power_limit_w", &GpuState::power_limit_w},
    {"energy_j", &GpuState::energy_j},
    {"sm_clock_mhz", &GpuState::sm_clock_mhz},
    {"sm_clock_limit_mhz", &GpuState::sm_clock_limit_mhz},
    {"memory_clock_mhz", &GpuState::memory_clock_mhz},
    {"temperature_c", &GpuState::temperature_c},
}};

struct MemoryKey {
  const char* key;
  std::uint64_t DeviceMemory::*figure;
};
constexpr std::array<MemoryKey, 7> kMemoryKeys = {{
    {"peak_bytes", &DeviceMemory::peak_bytes},
    {"peak_requested_bytes", &DeviceMemory::peak_requested_bytes},
    {"peak_reserved_bytes", &DeviceMemory::peak_reserved_bytes},
    {"allocations", &DeviceMemory::allocations},
    {"driver_allocations", &DeviceMemory::driver_allocations},
    {"driver_frees", &DeviceMemory::driver_frees},
    {"retries", &DeviceMemory::retries},
}};

struct SampleKey {
  const char* key;
  std::optional<double> GpuSamples::*figure;
};
constexpr std::array<SampleKey, 7> kSampleKeys = {{
    {"sm_clock_min_mhz", &GpuSamples::sm_clock_min_mhz},
    {"sm_clock_mean_mhz", &GpuSamples::sm_clock_mean_mhz},
    {"sm_clock_max_mhz", &GpuSamples::sm_clock_max_mhz},
    {"memory_clock_min_mhz", &GpuSamples::memory_clock_min_mhz},
    {"memory_clock_max_mhz", &GpuSamples::memory_clock_max_mhz},
    {"power_mean_w", &GpuSamples::power_mean_w},
    {"power_max_w", &GpuSamples::power_max_w},
}};

Json gpu_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json state_json(const GpuState& state) {
  Json json;
  for (const StateKey& known : kStateKeys) {
    json[known.key] = gpu_number(state.*known.figure);
  }
  json["throttle_reasons"] = state.throttle_reasons;
  return json;
}

GpuState read_state(const JsonField& field) {
  GpuState state;
  for (const StateKey& known : kStateKeys) {
    state.*known.figure = field.at(known.key).as_double_or_null();
  }
  state.throttle_reasons = field.at("throttle_reasons").as_texts();
  return state;
}

Json samples_json(const GpuSamples& samples) {
  Json json = {{"count", samples.count}};
  for (const SampleKey& known : kSampleKeys) {
    json[known.key] = gpu_number(samples.*known.figure);
  }
  json["power_is_instant"] = samples.power_is_instant;
  json["energy_changes"] = samples.energy_changes;
  json["throttled"] = Json::object();
  for (const auto& [reason, share] : samples.throttled) {
    json["throttled"][reason] = share;
  }
  return json;
}

GpuSamples read_samples(const JsonField& field) {
  GpuSamples samples;
  samples.count = field.at("count").as_uint();
  for (const SampleKey& known : kSampleKeys) {
    samples.*known.figure = field.at(known.key).as_double_or_null();
  }
  samples.power_is_instant = field.at("power_is_instant").as_bool();
  samples.energy_changes = field.at("energy_changes").as_uint();
  for (const auto& [reason, share] : field.at("throttled").members()) {
    samples.throttled[reason] = share.as_double();
  }
  return samples;
}

Json health_json(const GpuHealth& health) {
  return {{"name", health.name},
          {"driver_version", health.driver_version},
          {"energy_j", gpu_number(health.energy_j)},
          {"mean_power_w", gpu_number(health.mean_power_w)},
          {"window_s", gpu_number(health.window_s)},
          {"window_iterations", health.window_iterations},
          {"restores", health.restores},
          {"restore_s", gpu_number(health.restore_s)},
          {"restore_j", gpu_number(health.restore_j)},
          {"samples", samples_json(health.samples)},
          {"before", state_json(health.before)},
          {"after", state_json(health.after)},
          {"warnings", health.warnings}};
}

GpuHealth read_health(const JsonField& field) {
  GpuHealth health;
  health.name = field.at("name").as_text();
  health.driver_version = field.at("driver_version").as_text();
  health.energy_j = field.at("energy_j").as_double_or_null();
  health.mean_power_w = field.at("mean_power_w").as_double_or_null();
  health.window_s = field.at("window_s").as_double_or_null().value_or(0);
  health.window_iterations = field.at("window_iterations").as_uint();
  health.restores = field.at("restores").as_uint();
  health.restore_s = field.at("restore_s").as_double_or_null().value_or(0);
  health.restore_j = field.at("restore_j").as_double_or_null();
  health.samples = read_samples(field.at("samples"));
  health.before = read_state(field.at("before"));
  health.after = read_state(field.at("after"));
  health.warnings = field.at("warnings").as_free_texts();
  return health;
}

}  // namespace

Json gpu_json(const GpuUse& gpu) {
  Json memory;
  for (const MemoryKey& known : kMemoryKeys) {
    memory[known.key] = gpu.memory.*known.figure;
  }
  Json json;
  json["memory"] = std::move(memory);
  json["health"] = gpu.health ? health_json(*gpu.health) : Json(nullptr);
  json["no_health"] = gpu.no_health;
  return json;
}

GpuUse read_gpu(const JsonField& field) {
  GpuUse gpu;
  const JsonField memory = field.at("memory");
  for (const MemoryKey& known : kMemoryKeys) {
    gpu.memory.*known.figure = memory.at(known.key).as_uint();
  }
  const JsonField health = field.at("health");
  if (!health.is_null()) {
    gpu.health = read_health(health);
  }
  gpu.no_health = field.at("no_health").as_free_text();
  return gpu;
}

}  // namespace understudy::et_schema
