#include "replayer/measure/counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "et_schema/model/report_fields.h"
#include "milliseconds.h"

namespace understudy::replayer {
namespace {

using et_schema::kCounterFigures;
using et_schema::SystemCounters;

struct HardwareEvent {
  std::uint64_t id;
  std::optional<double> SystemCounters::*sum;
};
constexpr std::array<HardwareEvent, 3> kHardwareEvents = {{
    {PERF_COUNT_HW_INSTRUCTIONS, &SystemCounters::instructions},
    {PERF_COUNT_HW_CPU_CYCLES, &SystemCounters::cycles},
    {PERF_COUNT_HW_CACHE_MISSES, &SystemCounters::cache_misses},
}};

/// Figures that are too coarse for a single call.
constexpr std::array<std::string_view, 3> kTooCoarse = {"cpu_ms", "major_faults",
                                                        "involuntary_switches"};

int open_counter(std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof(attributes);
  attributes.config = event;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;  // user-mode counts need no privilege
  attributes.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0UL));
}

std::string why_not(int error) {
  if (error == ENOENT || error == EOPNOTSUPP) {
    return "this machine has no hardware counters";
  }
  if (error == EACCES || error == EPERM) {
    return "not permitted: lower kernel.perf_event_paranoid to 2, or grant CAP_PERFMON";
  }
  return fmt::format("perf_event_open: {}", std::strerror(error));
}

}  // namespace

SystemCounting::SystemCounting() : hardware_("counted") {
  for (const HardwareEvent& event : kHardwareEvents) {
    const int file = open_counter(event.id);
    if (file < 0) {
      hardware_ = why_not(errno);
      for (const int open : files_) {
        close(open);
      }
      files_.clear();
      break;
    }
    files_.push_back(file);
  }
}

SystemCounting::~SystemCounting() {
  for (const int file : files_) {
    close(file);
  }
}

SystemCounters SystemCounting::read() const {
  SystemCounters now;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::uint64_t count = 0;
    const bool whole = ::read(files_[i], &count, sizeof(count)) == sizeof(count);
    now.*kHardwareEvents[i].sum = whole ? static_cast<double>(count) : 0;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  now.cpu_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  now.minor_faults = static_cast<double>(usage.ru_minflt);
  now.major_faults = static_cast<double>(usage.ru_majflt);
  now.involuntary_switches = static_cast<double>(usage.ru_nivcsw);
  return now;
}

void SystemCounting::begin() {
  before_ = read();
}

void SystemCounting::end() {
  const SystemCounters now = read();
  for (const auto& row : kCounterFigures) {
    if (now.*row.value && before_.*row.value) {
      sums_.*row.value = (sums_.*row.value).value_or(0) + *(now.*row.value) - *(before_.*row.value);
    }
  }
  ++iterations_;
}

std::map<std::string, double> SystemCounting::of_call(const SystemCounters& before,
                                                      const SystemCounters& after) {
  std::map<std::string, double> counts;
  for (const auto& row : kCounterFigures) {
    if (after.*row.value && before.*row.value && !std::ranges::count(kTooCoarse, row.key)) {
      counts[row.key] = *(after.*row.value) - *(before.*row.value);
    }
  }
  return counts;
}

SystemCounters SystemCounting::mean() const {
  SystemCounters counters = sums_;
  counters.hardware = hardware_;
  for (const auto& row : kCounterFigures) {
    if (std::optional<double>& figure = counters.*row.value) {
      *figure /= static_cast<double>(iterations_);
    }
  }
  return counters;
}

}  // namespace understudy::replayer
