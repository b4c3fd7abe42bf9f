#include "replayer/measure/counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "milliseconds.h"

namespace understudy::replayer {
namespace {

constexpr std::array<std::uint64_t, 3> kHardwareEvents = {
    PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_CACHE_MISSES};

constexpr std::array<const char*, kHardwareEvents.size()> kHardwareNames = {
    "instructions", "cycles", "cache_misses"};

int open_counter(std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof(attributes);
  attributes.config = event;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;  // what needs no privilege
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
  for (const std::uint64_t event : kHardwareEvents) {
    const int file = open_counter(event);
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
  sums_.hardware.resize(files_.size());
}

SystemCounting::~SystemCounting() {
  for (const int file : files_) {
    close(file);
  }
}

SystemCounting::Sums SystemCounting::read() const {
  Sums now;
  for (const int file : files_) {
    std::uint64_t count = 0;
    const bool whole = ::read(file, &count, sizeof(count)) == sizeof(count);
    now.hardware.push_back(whole ? static_cast<double>(count) : 0);
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
  const Sums now = read();
  sums_.cpu_ms += now.cpu_ms - before_.cpu_ms;
  sums_.minor_faults += now.minor_faults - before_.minor_faults;
  sums_.major_faults += now.major_faults - before_.major_faults;
  sums_.involuntary_switches += now.involuntary_switches - before_.involuntary_switches;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    sums_.hardware[i] += now.hardware[i] - before_.hardware[i];
  }
  ++iterations_;
}

std::map<std::string, double> SystemCounting::of_call(const Sums& before, const Sums& after) const {
  std::map<std::string, double> counts = {
      {"minor_faults", after.minor_faults - before.minor_faults}};
  for (std::size_t i = 0; i < files_.size(); ++i) {
    counts[kHardwareNames[i]] = after.hardware[i] - before.hardware[i];
  }
  return counts;
}

et_schema::SystemCounters SystemCounting::mean() const {
  et_schema::SystemCounters counters;
  counters.hardware = hardware_;
  if (iterations_ == 0) {
    return counters;
  }
  const auto mean = [this](double sum) { return sum / static_cast<double>(iterations_); };
  counters.cpu_ms = mean(sums_.cpu_ms);
  counters.minor_faults = mean(sums_.minor_faults);
  counters.major_faults = mean(sums_.major_faults);
  counters.involuntary_switches = mean(sums_.involuntary_switches);
  if (!files_.empty()) {
    counters.instructions = mean(sums_.hardware[0]);
    counters.cycles = mean(sums_.hardware[1]);
    counters.cache_misses = mean(sums_.hardware[2]);
  }
  return counters;
}

}  // namespace understudy::replayer
