#include "replayer/counters/perf.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

namespace understudy::replayer {
namespace {

using et_schema::Counters;

constexpr std::array<std::pair<std::string_view, unsigned>, 3> kProcessorEvents = {{
    {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_COUNT_HW_CPU_CYCLES},
    {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
}};
constexpr std::string_view kMemoryBytes = "host_dram_bytes";

/// Too coarse for a single call, or too slow to read around one.
constexpr std::array<std::string_view, 4> kNotOfCalls = {"cpu_ms", "major_faults",
                                                         "involuntary_switches", kMemoryBytes};

constexpr double kMebibyte = 1 << 20;
constexpr int kAnyCpu = -1;

std::string why_not(int error) {
  if (error == ENOENT || error == EOPNOTSUPP) {
    return "this machine has no hardware counters";
  }
  if (error == EACCES || error == EPERM) {
    return "not permitted: lower kernel.perf_event_paranoid to 2, or grant CAP_PERFMON";
  }
  return fmt::format("perf_event_open: {}", std::strerror(error));
}

std::string line_of(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

/// Returns the numbers of a list such as "0,18-19".
std::vector<int> numbers_of(const std::string& list) {
  std::istringstream text(list);
  std::vector<int> numbers;
  for (int first = 0; text >> first; text.get()) {
    int last = first;
    if (text.peek() == '-' && text >> last) {
      last = -last;
    }
    while (first <= last) {
      numbers.push_back(first++);
    }
  }
  return numbers;
}

}  // namespace

PerfSystem PerfSystem::of_kernel() {
  return {[](const perf_event_attr& event, int process, int cpu) {
            return static_cast<int>(
                syscall(SYS_perf_event_open, &event, process, cpu, -1, PERF_FLAG_FD_CLOEXEC));
          },
          ::read, "/sys/bus/event_source/devices"};
}

PerfSource::PerfSource(PerfSystem system)
    : system_(std::move(system)), state_(et_schema::kCounted) {
  open_processor();
  open_memory();
}

bool PerfSource::open(unsigned type, unsigned config, int cpu, std::string_view counter,
                      double scale) {
  const bool is_of_process = cpu == kAnyCpu;
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.size = sizeof(attributes);
  attributes.config = config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.inherit = is_of_process;
  attributes.exclude_kernel = is_of_process;  // user-mode counts need no privilege
  attributes.exclude_hv = is_of_process;
  const int file = system_.open(attributes, is_of_process ? 0 : -1, cpu);
  if (file >= 0) {
    events_.push_back({counter, file, scale});
  }
  return file >= 0;
}

void PerfSource::close_from(std::size_t first) {
  for (std::size_t i = first; i < events_.size(); ++i) {
    close(events_[i].file);
  }
  events_.resize(first);
}

/// Opens all of the processor's events or none.
void PerfSource::open_processor() {
  for (const auto& [counter, event] : kProcessorEvents) {
    if (!open(PERF_TYPE_HARDWARE, event, kAnyCpu, counter, 1)) {
      state_ = why_not(errno);
      close_from(0);
      return;
    }
  }
}

/// Opens the reads and writes of all memory controllers (Intel's), or none.
void PerfSource::open_memory() {
  const std::size_t first = events_.size();
  std::error_code none;
  for (const auto& device : std::filesystem::directory_iterator(system_.devices, none)) {
    for (const char* const name : {"cas_count_read", "cas_count_write"}) {
      const std::string event = device.path() / "events" / name;
      unsigned code = 0;
      unsigned mask = 0;
      if (!device.path().filename().string().starts_with("uncore_imc") ||
          std::sscanf(line_of(event).c_str(), "event=%x,umask=%x", &code, &mask) != 2) {
        continue;
      }
      const bool is_known = line_of(event + ".unit") == "MiB";
      const double scale = kMebibyte * std::strtod(line_of(event + ".scale").c_str(), nullptr);
      const auto type = static_cast<unsigned>(std::atoi(line_of(device.path() / "type").c_str()));
      for (const int cpu : numbers_of(line_of(device.path() / "cpumask"))) {
        if (!is_known || !open(type, code | mask << 8U, cpu, kMemoryBytes, scale)) {
          close_from(first);
          return;
        }
      }
    }
  }
}

std::vector<std::string> PerfSource::names() const {
  std::vector<std::string> names = {"cpu_ms", "minor_faults", "major_faults",
                                    "involuntary_switches"};
  if (state_ == et_schema::kCounted) {
    names.insert(names.end(), {"instructions", "cycles", "ipc", "cache_misses"});
  }
  if (!events_.empty() && events_.back().counter == kMemoryBytes) {
    names.emplace_back(kMemoryBytes);
  }
  return names;
}

std::vector<std::string> PerfSource::call_names() const {
  std::vector<std::string> of_calls = names();
  std::erase_if(of_calls, [](const auto& name) { return std::ranges::count(kNotOfCalls, name); });
  return of_calls;
}

void PerfSource::read(Count Event::*count) {
  for (Event& event : events_) {
    if (event.counter != kMemoryBytes || is_asked(kMemoryBytes)) {
      event.is_lost |= system_.read(event.file, &(event.*count), sizeof(Count)) != sizeof(Count);
    }
  }
}

void PerfSource::read_before() {
  std::ranges::for_each(events_, [](Event& event) { event.is_lost = false; });
  read(&Event::before);
  getrusage(RUSAGE_SELF, &before_);
}

Counters PerfSource::read_after() {
  constexpr double kLost = std::numeric_limits<double>::quiet_NaN();
  read(&Event::after);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  Counters counters;
  for (const Event& event : events_) {
    const auto change = [&event](std::uint64_t Count::*number) {
      return static_cast<double>(
          static_cast<std::int64_t>(event.after.*number - event.before.*number));
    };
    const double value = change(&Count::value);
    const double enabled = change(&Count::enabled_ns);
    const double running = change(&Count::running_ns);
    const bool is_lost = event.is_lost || value < 0 || running < 0 || enabled < running ||
                         (running == 0 && enabled > 0);
    counters[std::string(event.counter)] +=
        is_lost ? kLost : event.scale * value * (running > 0 ? enabled / running : 1);
  }
  counters["ipc"] = counters["instructions"] / counters["cycles"];
  const auto ms = [](const rusage& usage) {
    return 1e3 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-3 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  counters["cpu_ms"] = ms(after) - ms(before_);
  counters["minor_faults"] = static_cast<double>(after.ru_minflt - before_.ru_minflt);
  counters["major_faults"] = static_cast<double>(after.ru_majflt - before_.ru_majflt);
  counters["involuntary_switches"] = static_cast<double>(after.ru_nivcsw - before_.ru_nivcsw);
  return counters;
}

void PerfSource::begin() {
  if (iterations_ == 0) {
    static_cast<void>(prepare(names(), 1));
  }
  begin_range(0);
}

void PerfSource::end() {
  end_range();
  sums_ = et_schema::combined({{std::move(sums_), take().front()}});
  ++iterations_;
}

void PerfSource::report(et_schema::RunFigures& figures) const {
  figures.counters.merge(et_schema::of_one_run(sums_, static_cast<double>(iterations_)));
  figures.counter_sources["perf"] = state_;
}

}  // namespace understudy::replayer
