#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::et_schema {

inline constexpr const char* kReportFormat = "understudy-report";

/// A list in the report's coverage. `key` is the list's JSON key; `note_key` is the JSON key of the
/// note in each of its rows.
struct CoverageList {
  const char* key;
  const char* note_key;
  std::vector<NamedCount> Coverage::*rows;
  bool always_noted = true;  ///< if false, rows without a note omit the key
};

inline constexpr std::array<CoverageList, 5> kCoverageLists = {{
    {"substituted", "by", &Coverage::substituted},
    {"stubbed", "by", &Coverage::stubbed},
    {"dropped", "reason", &Coverage::dropped},
    {"not_applicable", "reason", &Coverage::not_applicable},
    {"pinned_outputs", "reason", &Coverage::pinned_outputs, false},
}};

/// How the ranks' figures are combined into the job's.
enum class OverRanks : std::uint8_t {
  kSum,       ///< known if every rank's figure is known
  kLargest,   ///< the largest known figure
  kSmallest,  ///< the smallest known figure
  kFarthest   ///< the known figure farthest from zero: a drift may have either sign
};

/// A count or figure of a part of the report: its key, which ends with its unit, and its label in
/// texts and pages. docs/formats.md and docs/metrics.md describe it.
template <typename Part, typename Value>
struct FieldRow {
  const char* key;
  Value Part::*value;
  OverRanks over_ranks;
  const char* text;
};
template <typename Part>
using CountRow = FieldRow<Part, std::uint64_t>;
template <typename Part>
using FigureRow = FieldRow<Part, std::optional<double>>;

/// One statistic of iteration times. A job's is computed from the job's samples.
struct IterationRow {
  const char* key;
  std::optional<double> IterationStats::*value;
  const char* text;
};
inline constexpr std::array<IterationRow, 7> kIterationFigures = {{
    {"min", &IterationStats::min, "fastest"},
    {"median", &IterationStats::median, "median"},
    {"p10", &IterationStats::p10, "10th percentile"},
    {"p90", &IterationStats::p90, "90th percentile"},
    {"p99", &IterationStats::p99, "99th percentile"},
    {"median_low", &IterationStats::median_low, "95 % interval of the median, from"},
    {"median_high", &IterationStats::median_high, "to"},
}};

/// Returns the unit "ms", "us" or "ns" at the end of a key or before "_per_"; otherwise empty.
[[nodiscard]] constexpr std::string_view unit_of(std::string_view key) {
  key = key.substr(0, key.find("_per_"));
  const std::string_view end = key.substr(key.rfind('_') + 1);
  return end == "ms" || end == "us" || end == "ns" ? end : std::string_view();
}

inline constexpr std::array<CountRow<RunFigures>, 2> kOutputCounts = {{
    {"output_mismatches", &RunFigures::output_mismatches, OverRanks::kSum,
     "outputs that differ from the recorded shape, dtype or stride"},
    {"outputs_checked", &RunFigures::outputs_checked, OverRanks::kSum, "outputs checked"},
}};

inline constexpr std::array<CountRow<ValueHealth>, 4> kValueCounts = {{
    {"nan", &ValueHealth::nan, OverRanks::kSum, "tensors with NaN"},
    {"inf", &ValueHealth::inf, OverRanks::kSum, "tensors with infinities"},
    {"subnormal", &ValueHealth::subnormal, OverRanks::kSum, "tensors with subnormal numbers"},
    {"recorded_inf", &ValueHealth::recorded_inf, OverRanks::kSum,
     "tensors with infinities that the trace itself writes (masks)"},
}};

inline constexpr std::array<CountRow<MemoryUse>, 3> kMemoryCounts = {{
    {"peak_bytes", &MemoryUse::peak_bytes, OverRanks::kLargest, "peak of all tensors"},
    {"live_peak_bytes", &MemoryUse::live_peak_bytes, OverRanks::kLargest,
     "peak of intermediates by their lifetimes"},
    {"external_bytes", &MemoryUse::external_bytes, OverRanks::kLargest,
     "made before the step, touched bytes only"},
}};

inline constexpr std::array<CountRow<PaceUse>, 6> kPaceCounts = {{
    {"paced", &PaceUse::paced, OverRanks::kSum,
     "operators an iteration with a recorded time of issue"},
    {"on_time", &PaceUse::on_time, OverRanks::kSum, "issues that kept their gap, all iterations"},
    {"unready", &PaceUse::unready, OverRanks::kSum, "not ready when their gap was over"},
    {"late", &PaceUse::late, OverRanks::kSum,
     "behind their recorded start: what ran before was slower"},
    {"own_threads", &PaceUse::own_threads, OverRanks::kSum,
     "recorded threads on threads of their own"},
    {"device_waits", &PaceUse::device_waits, OverRanks::kSum,
     "recorded waits for the device between operators"},
}};
inline constexpr std::array<FigureRow<PaceUse>, 9> kPaceFigures = {{
    {"error_median_us", &PaceUse::error_median_us, OverRanks::kFarthest,
     "after their time, median of those that kept it"},
    {"error_p99_us", &PaceUse::error_p99_us, OverRanks::kFarthest,
     "after their time, 99th percentile"},
    {"unready_ms", &PaceUse::unready_ms, OverRanks::kFarthest,
     "of those not ready in sum, an iteration"},
    {"late_ms", &PaceUse::late_ms, OverRanks::kFarthest,
     "behind their recorded start, the mean of those that were"},
    {"drift_median_us", &PaceUse::drift_median_us, OverRanks::kFarthest,
     "drift from the recorded starts, median"},
    {"drift_p99_us", &PaceUse::drift_p99_us, OverRanks::kFarthest,
     "drift either way, 99th percentile"},
    {"drift_end_us", &PaceUse::drift_end_us, OverRanks::kFarthest, "drift at the step's end"},
    {"device_wait_recorded_ms", &PaceUse::device_wait_recorded_ms, OverRanks::kFarthest,
     "waits for the device as recorded, in sum"},
    {"device_wait_ms", &PaceUse::device_wait_ms, OverRanks::kFarthest, "waits for the device here"},
}};

inline constexpr std::array<CountRow<WaitUse>, 6> kWaitCounts = {{
    {"joins_recorded", &WaitUse::joins_recorded, OverRanks::kSum,
     "communications joined by a recorded wait"},
    {"joins_inferred", &WaitUse::joins_inferred, OverRanks::kSum,
     "joined by what first needs their result"},
    {"joins_missing", &WaitUse::joins_missing, OverRanks::kSum, "joined by the step's end"},
    {"streams_recorded", &WaitUse::streams_recorded, OverRanks::kSum,
     "waits of a stream for another as recorded"},
    {"streams_inferred", &WaitUse::streams_inferred, OverRanks::kSum,
     "waits of a stream by the flow of data"},
    {"streams_missing", &WaitUse::streams_missing, OverRanks::kSum,
     "recorded waits of a stream without counterpart here"},
}};

inline constexpr std::array<CountRow<GraphUse>, 3> kGraphCounts = {{
    {"graphs", &GraphUse::graphs, OverRanks::kSum, "graphs launched in an iteration"},
    {"captured", &GraphUse::captured, OverRanks::kSum, "instructions in them"},
    {"launches_saved", &GraphUse::launches_saved, OverRanks::kSum, "launches saved"},
}};
inline constexpr std::array<FigureRow<GraphUse>, 1> kGraphFigures = {{
    {"device_share", &GraphUse::device_share, OverRanks::kSmallest,
     "share of the device's time in graphs"},
}};

/// Not summed, since all ranks measure the same iterations.
inline constexpr std::array<CountRow<MeasurementUse>, 3> kMeasurementCounts = {{
    {"timing_passes", &MeasurementUse::timing_passes, OverRanks::kSmallest, "timing passes"},
    {"restores", &MeasurementUse::restores, OverRanks::kLargest,
     "resets of inputs and weights, untimed"},
    {"restore_every", &MeasurementUse::restore_every, OverRanks::kLargest,
     "iterations from one reset to the next; 0: never reset"},
}};

inline constexpr std::array<FigureRow<OriginalStep>, 3> kOriginalFigures = {{
    {"step_ms", &OriginalStep::step_ms, OverRanks::kLargest, "the profiled step"},
    {"operators_ms", &OriginalStep::operators_ms, OverRanks::kLargest, "of it in operators"},
    {"unprofiled_ms", &OriginalStep::unprofiled_ms, OverRanks::kLargest, "the unprofiled step"},
}};

inline constexpr std::array<FigureRow<CommunicationUse>, 3> kCommunicationFigures = {{
    {"exposed_ms", &CommunicationUse::exposed_ms, OverRanks::kLargest,
     "communication that the host waited for, an iteration"},
    {"in_flight_ms", &CommunicationUse::in_flight_ms, OverRanks::kLargest,
     "communication from start to end, calls in sum"},
    {"overlap_share", &CommunicationUse::overlap_share, OverRanks::kSmallest,
     "share of that beside operators"},
}};

inline constexpr std::array<FigureRow<RunFigures>, 2> kOverheadFigures = {{
    {"host_overhead_ns_per_operator", &RunFigures::host_overhead_ns_per_operator,
     OverRanks::kLargest, "replayer overhead per operator, above a bare loop of the same calls"},
    {"host_overhead_resolution_ns", &RunFigures::host_overhead_resolution_ns, OverRanks::kLargest,
     "resolution of this overhead: below it none is known"},
}};

inline constexpr std::array<FigureRow<RunFigures>, 2> kStartFigures = {{
    {"startup_ms", &RunFigures::startup_ms, OverRanks::kLargest,
     "from the start to the first iteration"},
    {"first_iteration_ms", &RunFigures::first_iteration_ms, OverRanks::kLargest,
     "the first iteration"},
}};

}  // namespace understudy::et_schema
