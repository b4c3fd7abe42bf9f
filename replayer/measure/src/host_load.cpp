#include "host_load.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <set>
#include <sstream>

#include "milliseconds.h"

namespace understudy::replayer {
namespace {

/// The system counts in ticks of 10 ms; shorter intervals are too coarse.
constexpr double kShortestMs = 500;

/// Returns the CPUs that this process may run on.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(static_cast<int>(cpu));
      }
    }
  }
  return cpus;
}

}  // namespace

std::optional<double> busy_ms(const std::string& proc_stat, const std::vector<int>& cpus,
                              double ticks_per_s) {
  // cpuN user nice system idle iowait irq softirq steal …; guests are included in user and nice.
  constexpr std::array<bool, 8> kIsBusy = {true, true, true, false, false, true, true, true};
  std::set<std::string> wanted;
  for (const int cpu : cpus) {
    wanted.insert("cpu" + std::to_string(cpu));
  }
  std::istringstream lines(proc_stat);
  double ticks = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (wanted.erase(name) == 0) {
      continue;
    }
    for (const bool is_busy : kIsBusy) {
      double count = 0;
      if (!(words >> count)) {
        return std::nullopt;
      }
      ticks += is_busy ? count : 0;
    }
  }
  return wanted.empty() && !cpus.empty() ? std::optional(ticks / ticks_per_s * kMsPerSecond)
                                         : std::nullopt;
}

HostLoadMeter::HostLoadMeter() : cpus_(allowed_cpus()), begin_(read()) {}

HostLoadMeter::Reading HostLoadMeter::read() const {
  Reading now;
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  now.wall_ms = std::chrono::duration<double, std::milli>(since_boot).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  now.own_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  now.busy_ms = busy_ms(text.str(), cpus_, static_cast<double>(sysconf(_SC_CLK_TCK)));
  return now;
}

et_schema::HostLoad HostLoadMeter::load() const {
  const Reading now = read();
  et_schema::HostLoad load{now.wall_ms - begin_.wall_ms, static_cast<double>(cpus_.size()),
                           now.own_ms - begin_.own_ms};
  // If the counts do not change, the system does not count.
  const bool is_known = now.busy_ms && begin_.busy_ms && *now.busy_ms > *begin_.busy_ms;
  if (is_known && load.wall_ms >= kShortestMs) {
    load.busy_ms = *now.busy_ms - *begin_.busy_ms;
  }
  return load;
}

}  // namespace understudy::replayer
