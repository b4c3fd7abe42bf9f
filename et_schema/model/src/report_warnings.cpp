#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "et_schema/base/figures.h"
#include "et_schema/model/measurement.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {
namespace {

/// `compare` treats smaller differences as no change.
constexpr double kWidestPercent = 2;
/// More than the daemons of an idle host use.
constexpr double kLeastForeignCpus = 0.1;
constexpr double kForeignShare = 0.02;
/// Fewer passes do not show how noisy they are.
constexpr std::uint64_t kFewPasses = 5;

struct Host {
  int ranks = 0;
  double cpus = 0;
  double wall_ms = 0;
  double own_ms = 0;
  std::optional<double> busy_ms;
  /// Returns the CPUs that other processes than our ranks used.
  [[nodiscard]] std::optional<double> foreign_cpus() const {
    return busy_ms && wall_ms > 0 ? std::optional(std::max(0.0, (*busy_ms - own_ms) / wall_ms))
                                  : std::nullopt;
  }
  /// Returns true if others used more than the daemons of an idle host.
  [[nodiscard]] bool others_worked() const {
    return foreign_cpus().value_or(0) > std::max(kLeastForeignCpus, kForeignShare * cpus);
  }
};

/// Returns hosts by name, without those of ranks that report no load.
std::map<std::string, Host> hosts_of(const Report& report) {
  std::map<std::string, Host> hosts;
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const std::vector<std::string>& names = report.environment.hosts;
    const std::string name = i < names.size() ? names[i] : "";
    const std::optional<HostLoad>& load = report.ranks[i].host_load;
    if (!load) {
      unknown.insert(name);
      continue;
    }
    Host& host = hosts[name];
    ++host.ranks;
    host.cpus = std::max(host.cpus, load->cpus);
    host.wall_ms = std::max(host.wall_ms, load->wall_ms);
    host.busy_ms = std::max(host.busy_ms, load->busy_ms);
    host.own_ms += load->own_ms;
  }
  std::erase_if(hosts, [&](const auto& host) { return unknown.contains(host.first); });
  return hosts;
}

bool all_ranks_have_a_load(const Report& report) {
  return !report.ranks.empty() && std::ranges::all_of(report.ranks, [](const RankReport& rank) {
    return rank.host_load.has_value();
  });
}

/// Returns the mean time of the iterations over which switches were counted. The median would
/// ignore the long ones.
std::optional<double> mean_iteration_ms(const IterationStats& stats) {
  if (stats.samples.empty()) {
    return stats.median;
  }
  return std::accumulate(stats.samples.begin(), stats.samples.end(), 0.0) /
         static_cast<double>(stats.samples.size());
}

std::string named(const std::string& host) {
  return host.empty() ? "this host" : host;
}

class Warnings {
 public:
  explicit Warnings(const Report& report) : report_(report), hosts_(hosts_of(report)) {}

  std::vector<MeasurementWarning> find() {
    find_spread();
    find_others();
    find_threads();
    find_other_threads();
    find_passes();
    find_not_counted();
    return std::move(warnings_);
  }

 private:
  void find_spread() {
    const std::vector<double>& samples = report_.total.iteration_ms.samples;
    const std::optional<MedianInterval> interval = median_interval(samples);
    if (interval && interval->half_percent() > kWidestPercent) {
      const MeasurementUse& use = report_.total.measurement;
      const std::string advice =
          use.until_percent && use.ended_by == "seconds"
              ? "--seconds gives --until more time, and an idle machine needs less"
              : fmt::format("--until {}% measures until it is", kWidestPercent);
      add("iteration_ms", fmt::format("the median is known to ± {:.1f} % only; {}",
                                      interval->half_percent(), advice));
    } else if (!interval && !samples.empty()) {
      add("iteration_ms", "too few iterations to say how sure the median is");
    }
  }

  void find_others() {
    const double switches = interruptions_per_s(report_).value_or(0);
    if (switches > kIdleSwitchesPerS) {
      add("iteration_ms", fmt::format("each of our threads was interrupted {:.0f} times a second: "
                                      "others want our CPUs",
                                      switches));
    }
    for (const auto& [name, host] : hosts_) {
      if (host.others_worked()) {
        add("iteration_ms",
            fmt::format("others used {:.1f} of the {:.0f} CPUs of {}{}", *host.foreign_cpus(),
                        host.cpus, named(name), fewer_threads(host)));
      }
    }
  }

  /// Returns the advice to use fewer threads; empty if enough CPUs are free. Threads of an operator
  /// wait for each other, so one thread without a CPU delays all.
  [[nodiscard]] std::string fewer_threads(const Host& host) const {
    const auto free = static_cast<int>(std::max(1.0, host.cpus - *host.foreign_cpus()));
    const int each = std::max(1, free / std::max(1, host.ranks));
    return each < report_.environment.threads
               ? fmt::format(
                     ": operators may take many times as long, --threads {} fits beside them", each)
               : "";
  }

  void find_threads() {
    const int threads = report_.environment.threads;
    for (const auto& [name, host] : hosts_) {
      if (host.ranks * threads > host.cpus) {
        const std::string who = counted(host.ranks, "rank") + " of " + counted(threads, "thread");
        add(host.ranks == 1 ? "operators" : "collectives",
            fmt::format("{} share the {:.0f} CPU{} of {}: who waits spins in the way of who works",
                        who, host.cpus, host.cpus == 1 ? "" : "s", named(name)));
      }
    }
  }

  void find_other_threads() {
    const auto setting = report_.environment.settings.find("kernel.threads");
    if (setting == report_.environment.settings.end()) {
      return;
    }
    // "8, recorded 2" if they differ.
    constexpr std::string_view kRecorded = ", recorded ";
    const std::size_t at = setting->second.find(kRecorded);
    if (at != std::string::npos) {
      const std::string recorded = setting->second.substr(at + kRecorded.size());
      add("iteration_ms",
          fmt::format("operators have {} here and had {} in the capture: --threads {} compares "
                      "like with like",
                      counted(report_.environment.threads, "thread"), recorded, recorded));
    }
  }

  void find_passes() {
    const std::uint64_t passes = report_.total.measurement.timing_passes;
    if (passes > 0 && passes < kFewPasses) {
      add("operators", "of " + counted(passes, "timing pass") + " only: --passes makes more");
    }
  }

  /// Names the counters that the user asked for by name and that no source counted.
  void find_not_counted() {
    const auto setting = report_.environment.settings.find("counters");
    std::istringstream names(setting == report_.environment.settings.end() ? "" : setting->second);
    std::string missing;
    for (std::string name; std::getline(names, name, ',');) {
      if (name != "default" && !report_.total.counters.contains(name)) {
        missing += (missing.empty() ? "" : ", ") + name;
      }
    }
    std::string reasons;
    for (const auto& [source, state] : report_.total.counter_sources) {
      reasons += state == kCounted ? "" : fmt::format("; {}: {}", source, state);
    }
    if (!missing.empty()) {
      add("counters", fmt::format("not counted: {}{}", missing,
                                  reasons.empty() ? "; no source here has them" : reasons));
    }
  }

  void add(std::string figure, std::string text) {
    warnings_.push_back({std::move(figure), std::move(text)});
  }

  const Report& report_;
  std::map<std::string, Host> hosts_;
  std::vector<MeasurementWarning> warnings_;
};

}  // namespace

std::optional<double> interruptions_per_s(const Report& report) {
  const auto switches = report.total.counters.find("involuntary_switches");
  const std::optional<double> mean_ms = mean_iteration_ms(report.total.iteration_ms);
  if (switches == report.total.counters.end() || !mean_ms || !(*mean_ms > 0)) {
    return std::nullopt;
  }
  const std::map<std::string, Host> hosts = hosts_of(report);
  const auto was_alone = [](const auto& host) {
    return host.second.foreign_cpus() && !host.second.others_worked();
  };
  if (all_ranks_have_a_load(report) && std::ranges::all_of(hosts, was_alone)) {
    return 0;
  }
  constexpr double kMsPerS = 1e3;
  const int threads = report.world_size * std::max(1, report.environment.threads);
  return switches->second / threads / *mean_ms * kMsPerS;
}

std::optional<double> foreign_cpus(const Report& report) {
  std::optional<double> most;
  for (const auto& [name, host] : hosts_of(report)) {
    most = std::max(most, host.foreign_cpus());
  }
  return most;
}

std::vector<MeasurementWarning> measurement_warnings(const Report& report) {
  return Warnings(report).find();
}

}  // namespace understudy::et_schema
