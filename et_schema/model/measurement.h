#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace understudy::et_schema {

struct Report;

/// How a rank's measurement went: what ended it, and what was done in between.
struct MeasurementUse {
  /// "iterations", "seconds", "interval" (`--until`), "SIGINT" or "SIGTERM"; empty where a report
  /// does not tell.
  std::string ended_by;
  std::optional<double> until_percent = {};  ///< the half width that was asked for
  std::uint64_t timing_passes = 0;
  std::uint64_t restores = 0;       ///< during measured iterations and timing passes
  std::uint64_t restore_every = 0;  ///< iterations from one restore to the next; 0: never
  std::string restore_reason;       ///< why so often, or never
  /// CPUs that others used of those that we may run on: the mean over the measured iterations. Of a
  /// job the highest of its hosts, of a rank not known.
  std::optional<double> foreign_cpus = {};
  bool operator==(const MeasurementUse&) const = default;
};

/// What a host did while a rank's iterations were measured.
struct HostLoad {
  double wall_ms = 0;
  double cpus = 0;    ///< that this process may run on
  double own_ms = 0;  ///< CPU time of this process
  /// CPU time that was used of these CPUs, by whomever, time stolen by other machines included.
  /// Null where the system does not tell, or the time was too short to tell.
  std::optional<double> busy_ms = {};
  bool operator==(const HostLoad&) const = default;
};

/// Why a figure of a report is worth less than it looks.
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

/// Involuntary context switches a second that a thread has at most on an idle machine; more are
/// others at work.
inline constexpr double kIdleSwitchesPerS = 50;
/// Those of a thread by others, the mean over threads and ranks. 0 where the CPU times of all hosts
/// tell that nobody else was at work: then our own threads were in each other's way. Null where
/// they were not counted.
[[nodiscard]] std::optional<double> interruptions_per_s(const Report& report);

/// What the measurement's own figures say against it.
[[nodiscard]] std::vector<MeasurementWarning> measurement_warnings(const Report& report);
/// CPUs that others used on the busiest host. Null where a rank does not know its host's load.
[[nodiscard]] std::optional<double> foreign_cpus(const Report& report);

}  // namespace understudy::et_schema
