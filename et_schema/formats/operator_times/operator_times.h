#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/operator_call.h"

namespace understudy::et_schema {

/// Version of the format; see bench.h for the rule.
inline constexpr int kOperatorTimesVersion = 1;

/// Times of one instruction in the timing passes, in ns. Percentiles are interpolated linearly.
struct TimeStats {
  std::size_t n = 0;
  double min_ns = 0, p10_ns = 0, median_ns = 0, p90_ns = 0, mean_ns = 0;
  bool operator==(const TimeStats&) const = default;
};
/// Returns null without samples.
[[nodiscard]] std::optional<TimeStats> time_stats(std::vector<double> samples_ns);

/// How the replay executed the recorded operator.
enum class TimedAs : std::uint8_t { kExact, kSubstitute, kStub, kCommunication };
[[nodiscard]] std::string_view to_string(TimedAs as);

/// Conditions under which `calibrate` timed one of its own calls.
struct TimedConditions {
  std::string call;           ///< the whole call as text, with numbers and layouts
  bool is_cold = false;       ///< its tensors were in no cache; otherwise the call ran just before
  int threads = 1;            ///< used by the operator
  double zeros = 0;           ///< share of elements that were zero, if the time depends on it
  double speed_probe_ms = 0;  ///< speed probe just before (docs/metrics.md, "Operators")
  double at_s = 0;  ///< measuring time before it, in seconds, over all runs of `calibrate`
  /// Properties of indices into a table that decide a lookup's time besides the shapes.
  struct Lookups {
    std::int64_t rows = 0;     ///< rows of the table
    std::int64_t lookups = 0;  ///< indices
    std::int64_t unique = 0;   ///< distinct indices
    bool operator==(const Lookups&) const = default;
  };
  std::optional<Lookups> lookups = {};
  bool operator==(const TimedConditions&) const = default;
};

/// One instruction of one rank.
struct InstructionTime {
  int rank = 0;
  std::uint64_t instruction = 0;  ///< number in the program, counting bodies, as in bench.et
  std::uint64_t node_id = 0;      ///< id of the trace's node
  OperatorCall call;
  std::string op_class;
  TimedAs as = TimedAs::kExact;
  TimeStats host;                                  ///< time of the call on the host thread
  std::optional<TimeStats> device;                 ///< time on the device's stream; null on a CPU
  std::optional<TimedConditions> conditions = {};  ///< set in rows of `calibrate`
  /// Counts per call by name: "minor_faults", and if the machine counts them "instructions",
  /// "cycles", "cache_misses". Empty if nothing was counted.
  std::map<std::string, double> counters = {};
  bool operator==(const InstructionTime&) const = default;
};

/// operators.jsonl: a header, and one row per instruction.
struct OperatorTimes {
  std::string tool_version;
  std::string benchmark;  ///< file name
  std::string benchmark_hash;
  std::string device;
  int threads = 0;
  int world_size = 1;
  std::vector<InstructionTime> rows;
  bool operator==(const OperatorTimes&) const = default;
};

/// Returns JSON lines as described in docs/formats.md.
[[nodiscard]] std::string to_json_lines(const OperatorTimes& times);
/// Returns the line of one row, for files that grow during measurement.
[[nodiscard]] std::string to_json_line(const InstructionTime& row);
/// Parses the result of to_json_lines(). Throws Error (bad input) with the line if it is not JSON,
/// has another format or version, or a field is missing or has another type.
[[nodiscard]] OperatorTimes parse_operator_times(std::string_view text, const std::string& file);

}  // namespace understudy::et_schema
