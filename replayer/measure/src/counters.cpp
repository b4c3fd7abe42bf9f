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
#include <string_view>

#include "milliseconds.h"

namespace understudy::replayer {
namespace {

using et_schema::Counters;

struct HardwareEvent {
  std::uint64_t id;
  const char* counter;
};
constexpr std::array<HardwareEvent, 3> kHardwareEvents = {{
    {PERF_COUNT_HW_INSTRUCTIONS, "instructions"},
    {PERF_COUNT_HW_CPU_CYCLES, "cycles"},
    {PERF_COUNT_HW_CACHE_MISSES, "cache_misses"},
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

SystemCounting::SystemCounting() : state_(et_schema::kCounted) {
  for (const HardwareEvent& event : kHardwareEvents) {
    const int file = open_counter(event.id);
    if (file < 0) {
      state_ = why_not(errno);
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

Counters SystemCounting::read() const {
  Counters now;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::uint64_t count = 0;
    const bool whole = ::read(files_[i], &count, sizeof(count)) == sizeof(count);
    now[kHardwareEvents[i].counter] = whole ? static_cast<double>(count) : 0;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  now["cpu_ms"] = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  now["minor_faults"] = static_cast<double>(usage.ru_minflt);
  now["major_faults"] = static_cast<double>(usage.ru_majflt);
  now["involuntary_switches"] = static_cast<double>(usage.ru_nivcsw);
  return now;
}

void SystemCounting::begin() {
  before_ = read();
}

void SystemCounting::end() {
  for (const auto& [name, count] : read()) {
    sums_[name] += count - before_.at(name);
  }
  ++iterations_;
}

Counters SystemCounting::of_call(const Counters& before, const Counters& after) {
  Counters counts;
  for (const auto& [name, count] : after) {
    if (!std::ranges::count(kTooCoarse, name)) {
      counts[name] = count - before.at(name);
    }
  }
  return counts;
}

void SystemCounting::report(et_schema::RunFigures& figures) const {
  for (const auto& [name, sum] : sums_) {
    figures.counters[name] = sum / static_cast<double>(iterations_);
  }
  figures.counter_sources["perf"] = state_;
}

}  // namespace understudy::replayer
