#include "et_schema/model/device_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace understudy::et_schema {
namespace {

/// Names in the order of enum Outside.
constexpr std::array<std::string_view, kOutsideCount> kOutsideNames = {"opened operators",
                                                                       "wrapped operators",
                                                                       "operators without memory",
                                                                       "left out by a filter",
                                                                       "label without operator",
                                                                       "graph launch",
                                                                       "unlinked",
                                                                       "unseen communication"};

constexpr double kNsInMs = 1e6;

/// (class, fate) → ms.
using Sums = std::map<std::pair<std::string, std::string>, double>;

double sum_ns(const KernelClassTimes& times) {
  double sum = 0;
  for (const KernelClassTime& time : times) {
    sum += static_cast<double>(time.ns);
  }
  return sum;
}

/// Distributes a device time over its kernel classes.
void add_shared(std::int64_t device_ns, const KernelClassTimes& classes, const std::string& fate,
                Sums& sums) {
  const double all_ns = sum_ns(classes);
  const double ms = static_cast<double>(device_ns) / kNsInMs;
  if (device_ns > 0 && !(all_ns > 0)) {
    sums[{"not told", fate}] += ms;
  }
  for (const KernelClassTime& time : classes) {
    if (device_ns > 0 && time.ns > 0) {
      sums[{time.kernel_class, fate}] += ms * static_cast<double>(time.ns) / all_ns;
    }
  }
}

std::vector<DeviceTime> rows_of(const Sums& sums) {
  double all_ms = 0;
  for (const auto& [key, ms] : sums) {
    all_ms += ms;
  }
  std::vector<DeviceTime> rows;
  for (const auto& [key, ms] : sums) {
    rows.push_back({key.first, key.second, ms, ms / all_ms});
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &DeviceTime::ms);
  return rows;
}

}  // namespace

void add_kernel_time(std::string_view kernel_class, std::int64_t ns, KernelClassTimes& times) {
  auto place = std::ranges::lower_bound(times, kernel_class, {}, &KernelClassTime::kernel_class);
  if (place == times.end() || place->kernel_class != kernel_class) {
    place = times.insert(place, {std::string(kernel_class), 0});
  }
  if (__builtin_add_overflow(place->ns, ns, &place->ns)) {
    place->ns = std::numeric_limits<std::int64_t>::max();
  }
}

void add_kernel_times(const KernelClassTimes& added, KernelClassTimes& times) {
  for (const KernelClassTime& time : added) {
    add_kernel_time(time.kernel_class, time.ns, times);
  }
}

void take_kernel_times(const KernelClassTimes& taken, KernelClassTimes& times) {
  for (const KernelClassTime& part : taken) {
    const auto time = std::ranges::find(times, part.kernel_class, &KernelClassTime::kernel_class);
    if (time != times.end()) {
      time->ns -= std::min(time->ns, part.ns);
    }
  }
  std::erase_if(times, [](const KernelClassTime& time) { return time.ns == 0; });
}

void scale_kernel_times(std::int64_t ns, KernelClassTimes& times) {
  const double all_ns = sum_ns(times);
  for (KernelClassTime& time : times) {
    time.ns = std::llround(static_cast<double>(ns) * static_cast<double>(time.ns) /
                           std::max(all_ns, 1.0));
  }
}

std::string_view to_string(Outside why) {
  return kOutsideNames[static_cast<std::size_t>(why)];
}

std::string_view kind_text(const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kCollective:
    case InstructionKind::kP2p:
    case InstructionKind::kWait:
      return "communication";
    case InstructionKind::kKernel:
      return "compiled kernel";
    case InstructionKind::kNative:
      return "label without operators";
    default:
      return "operator";
  }
}

std::vector<DeviceTime> device_times(
    const Program& program, const std::function<std::string(const Instruction&)>& fate_of) {
  Sums sums;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.timing && instruction.timing->device_ns > 0) {
      add_shared(instruction.timing->device_ns, instruction.timing->kernel_classes,
                 fate_of(instruction), sums);
    }
  }
  if (program.profile) {
    for (const OutsideTime& row : program.profile->outside) {
      add_shared(row.device_ns, row.kernel_classes, std::string(to_string(row.why)), sums);
    }
  }
  return rows_of(sums);
}

std::vector<DeviceTime> sum_of(const std::vector<std::vector<DeviceTime>>& parts) {
  Sums sums;
  for (const std::vector<DeviceTime>& part : parts) {
    for (const DeviceTime& row : part) {
      sums[{row.kernel_class, row.fate}] += row.ms;
    }
  }
  return rows_of(sums);
}

}  // namespace understudy::et_schema
