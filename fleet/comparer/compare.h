#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/comparer/environment.h"
#include "fleet/comparer/run.h"

namespace understudy::comparer {

enum class Verdict : std::uint8_t {
  kSame,    ///< shown equal within the margin
  kFaster,  ///< B takes less time than A
  kSlower,  ///< B takes more
  kUnsure,  ///< neither could be shown
};

/// "SAME", "FASTER", "SLOWER", "UNSURE".
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// A ratio of times, B ÷ A, and its 95 % interval.
struct Ratio {
  double value = 1;
  double low = 1;
  double high = 1;
};

/// One row of a comparison; docs/metrics.md, "Compare", has the formulas.
struct Row {
  RowKind kind = RowKind::kOperator;
  std::string name;
  std::string detail;
  std::optional<std::uint64_t> count_a, count_b;  ///< calls an iteration
  std::optional<double> a_ms, b_ms;  ///< time an iteration; absent where a side lacks the row
  std::optional<double> change_ms;   ///< b_ms − a_ms
  std::optional<Ratio> ratio;        ///< by the clock
  std::optional<Ratio> beside_rest;  ///< what clock and other classes do not explain of it
  std::optional<double> p;           ///< adjusted for the number of rows
  Verdict verdict = Verdict::kUnsure;
  /// The reason for UNSURE, in up to three words; "beside the rest" for a change that the clock
  /// does not show, because the whole machine changed; else empty.
  std::string why;
};

struct CompareOptions {
  double margin = 0.02;  ///< SAME: the ratio's interval lies within 1 ± margin
};

struct Comparison {
  std::vector<EnvironmentDifference> differences;
  /// The runs' environments are alike except for what is compared: a change that most rows share is
  /// then the machine's state.
  bool is_alike = true;
  /// Those of the most interrupted run; see Run. Many of them widen all intervals.
  std::optional<double> switches_per_s;
  /// So many interruptions that no row is SLOWER or FASTER: its change may be the work of others.
  bool was_busy = false;
  /// All verdicts are UNSURE: a profile's device events are lost or unknown.
  bool lost_events = false;
  /// Time of a fixed piece of work: the cores' clock. Absent where a run has not measured it.
  std::optional<Ratio> speed_probe;
  std::uint64_t samples_left_out = 0;  ///< figures in the inputs that were not finite
  std::vector<Row> rows;  ///< iteration and common first; then by kind, by falling |change_ms|
};

/// Whether a row's verdict is the comparison's: where the device's own time of operators is known,
/// their host's is not.
[[nodiscard]] bool decides(const std::vector<Row>& rows, const Row& row);

/// Compares the runs B with the runs A. Each side has at least one run; more runs, made in turn,
/// show smaller changes. The same runs give the same result. O(rows × samples × 500), and O(rows ×
/// samples) for each class that has changed.
[[nodiscard]] Comparison compare(const std::vector<Run>& a, const std::vector<Run>& b,
                                 const CompareOptions& options = {});

}  // namespace understudy::comparer
