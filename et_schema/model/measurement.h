#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace understudy::et_schema {

struct Report;

/// How a rank's measurement ended, and its timing passes and restores.
struct MeasurementUse {
  /// "iterations", "seconds", "interval" (`--until`), "SIGINT" or "SIGTERM"; empty if a report does
  /// not say.
  std::string ended_by;
  std::optional<double> until_percent = {};  ///< the requested half width
  std::uint64_t timing_passes = 0;
  std::uint64_t restores = 0;       ///< during measured iterations and timing passes
  std::uint64_t restore_every = 0;  ///< iterations from one restore to the next; 0: never
  std::string restore_reason;       ///< why `restore_every` has its value
  /// How many of the CPUs available to this process other processes used: mean over the measured
  /// iterations. A job has the highest value of its hosts; unset for a rank.
  std::optional<double> foreign_cpus = {};
  bool operator==(const MeasurementUse&) const = default;
};

/// A host's load while a rank's iterations were measured.
struct HostLoad {
  double wall_ms = 0;
  double cpus = 0;    ///< available to this process
  double own_ms = 0;  ///< CPU time of this process
  /// CPU time that all processes used on these CPUs, including time stolen by other machines. Unset
  /// if the system does not report it or the time was too short.
  std::optional<double> busy_ms = {};
  bool operator==(const HostLoad&) const = default;
};

/// Why a figure of a report is less reliable than it looks.
struct MeasurementWarning {
  std::string figure;  ///< key of the report: "iteration_ms", "operators", "collectives"
  std::string text;
  bool operator==(const MeasurementWarning&) const = default;
};

/// The 95 % interval of a median by order statistics; absent for fewer than 6 finite samples.
/// docs/metrics.md, "Iteration time", has the formula.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  /// (high − low) ÷ 2, as a percentage of the median.
  [[nodiscard]] double half_percent() const;
};
[[nodiscard]] std::optional<MedianInterval> median_interval(std::vector<double> samples);

/// Highest rate of involuntary context switches of a thread on an idle machine. A higher rate means
/// that other processes were running.
inline constexpr double kIdleSwitchesPerS = 50;
/// Returns the involuntary context switches per second of a thread, averaged over threads and
/// ranks. Returns 0 if the CPU times of all hosts show no other load: then this program's threads
/// interrupted each other. Returns nothing if the switches were not counted.
[[nodiscard]] std::optional<double> interruptions_per_s(const Report& report);

/// Returns warnings that follow from the measurement's own figures.
[[nodiscard]] std::vector<MeasurementWarning> measurement_warnings(const Report& report);
/// Returns the CPUs that other processes used on the busiest host; empty if a rank does not know
/// its host's load.
[[nodiscard]] std::optional<double> foreign_cpus(const Report& report);

}  // namespace understudy::et_schema
