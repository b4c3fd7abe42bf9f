#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/base/interval.h"
#include "et_schema/model/report.h"
#include "fleet/comparer/environment.h"
#include "fleet/gallery/gallery.h"

namespace understudy::fleet {

/// A step, or a class of operators in a step or over all steps, on this machine and on another.
struct SuiteRow {
  std::string name;
  /// Time there ÷ time here, with its 95 % interval: below 1 this machine takes longer.
  et_schema::Interval speed = {};
  double here_ms = 0;
  double there_ms = 0;
  double share = 1;          ///< of a class: its share of the time there, over all steps the mean
  std::string finding = {};  ///< of a class over all steps: "less" or "more", if it differs
                             ///< from the whole by more than its times vary
  // Only of a step:
  bool by_iteration = false;         ///< of whole iterations; else of operators that both sides ran
  std::optional<double> clock = {};  ///< clock here ÷ clock there; unset if one is unknown
  std::vector<SuiteRow> classes = {};
};

/// This machine against a platform, over the steps that both have (docs/metrics.md, "Suite").
struct SuitePlatform {
  std::string name;
  bool is_recorded = false;  ///< compared with the originals' recorded times
  et_schema::Interval speed;
  std::vector<SuiteRow> steps;
  std::vector<SuiteRow> classes;  ///< largest share first
  bool was_busy = false;  ///< others took the CPUs of a replay (comparer::Comparison::was_busy)
  /// Fields in which the environments of the last step differ: `a` here, `b` there.
  std::vector<comparer::EnvironmentDifference> differences = {};
};

/// Replays of a step on this machine, a process each.
struct SuiteReplays {
  GalleryStep step;
  std::vector<et_schema::Report> reports;
  std::string failure = {};  ///< why the last replay failed; empty if it did not
};

/// Returns this machine against each platform. The last has the most steps; of equals it is one
/// that replayed them. All steps must be for the same kind of device.
[[nodiscard]] std::vector<SuitePlatform> compare_suite(const std::vector<SuiteReplays>& replays);

/// Returns false if the interval is so wide that it tells nothing: of two replays a step it can be.
[[nodiscard]] bool tells(const et_schema::Interval& speed);

/// Returns the median SM clock of the replays' GPUs in MHz; unset if none is known.
[[nodiscard]] std::optional<double> gpu_clock_mhz(const std::vector<et_schema::Report>& reports);

/// Returns "0.91 × the H100 (0.89 … 0.93) over 10 steps; less in attention, more in embedding."
[[nodiscard]] std::string sentence_of(const SuitePlatform& platform);

/// Returns sentences on what makes the comparison less sure: failures, missing references, and the
/// first of what each step's report says against itself.
[[nodiscard]] std::vector<std::string> findings_of(const std::vector<SuiteReplays>& replays);

}  // namespace understudy::fleet
