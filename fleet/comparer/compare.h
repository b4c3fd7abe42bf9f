#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/interval.h"
#include "fleet/comparer/environment.h"
#include "fleet/comparer/run.h"

namespace understudy::comparer {

enum class Verdict : std::uint8_t {
  kSame,    ///< shown equal within the margin
  kFaster,  ///< B takes less time than A
  kSlower,  ///< B takes more time than A
  kUnsure,  ///< neither could be shown
};

/// "SAME", "FASTER", "SLOWER", "UNSURE".
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// One row of a comparison; docs/metrics.md, "Compare", has the formulas.
struct Row {
  RowKind kind = RowKind::kOperator;
  std::string name;
  std::string detail;
  std::optional<std::uint64_t> count_a, count_b;  ///< calls per iteration
  std::optional<double> a_ms, b_ms;          ///< time per iteration; unset if a side lacks the row
  std::optional<double> change_ms;           ///< b_ms − a_ms
  std::optional<et_schema::Interval> ratio;  ///< B ÷ A, of times by the clock; 95 %
  /// `ratio` with an interval that also covers the machines' state, which may differ in each run.
  std::optional<et_schema::Interval> ratio_of_machines;
  /// Part of `ratio` that neither clock nor classes explain.
  std::optional<et_schema::Interval> beside_rest;
  std::optional<double> p;  ///< adjusted for the number of rows
  Verdict verdict = Verdict::kUnsure;
  /// Reason for UNSURE, in up to three words. "beside the rest" if the verdict is a change relative
  /// to the rest of the run that times by the clock do not show. Otherwise empty.
  std::string why;
};

struct CompareOptions {
  /// SAME: the ratio's interval, or a counter's ratio, lies within 1 ± margin.
  double margin = 0.02;
  /// Classes are of kernels by their names (class_by_kernels()): operators of a class show only a
  /// part of it.
  bool by_kernels = false;
};

struct Comparison {
  std::vector<EnvironmentDifference> differences;
  /// The runs' environments differ only in what is being compared. A change that most rows share is
  /// then attributed to the machine's state.
  bool is_alike = true;
  /// Context switches of the most interrupted run (Run::switches_per_s). Many widen all intervals.
  std::optional<double> switches_per_s;
  /// Too many interruptions: no row is SLOWER or FASTER, because other programs may be the cause.
  bool was_busy = false;
  /// All verdicts are UNSURE: a profile's device events are lost or unknown.
  bool lost_events = false;
  bool by_kernels = false;  ///< CompareOptions::by_kernels
  /// Time of a fixed piece of work: the cores' clock. Unset if a run did not measure it.
  std::optional<et_schema::Interval> speed_probe;
  std::uint64_t samples_left_out = 0;  ///< values in the inputs that were not finite
  std::vector<Row> rows;  ///< iteration and common first; then by kind, by falling |change_ms|
  std::vector<et_schema::ComparedCounter> counters;
};

/// Returns true if the verdict of `row` counts for the whole comparison. Rows of operators' host
/// time do not count if `rows` has their device time.
[[nodiscard]] bool decides(const std::vector<Row>& rows, const Row& row);

/// Returns true if something is slower or faster, the iteration is shown to be the same, or classes
/// that are hold half of its time.
[[nodiscard]] bool tells(const Comparison& comparison);

/// Compares the runs B with the runs A. Each side needs at least one run; several runs, alternating
/// A and B, show smaller changes. Deterministic. O(rows × samples × 500), and O(rows × samples) for
/// each class that changed.
[[nodiscard]] Comparison compare(const std::vector<Run>& a, const std::vector<Run>& b,
                                 const CompareOptions& options = {});

}  // namespace understudy::comparer
