#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Version of the format; see bench.h for the rule.
inline constexpr int kOperatorTimesVersion = 1;

/// Times of one instruction in the timing passes, nanoseconds. Percentiles by linear interpolation.
struct TimeStats {
  std::size_t n = 0;
  double min_ns = 0, p10_ns = 0, median_ns = 0, p90_ns = 0, mean_ns = 0;
  bool operator==(const TimeStats&) const = default;
};
/// Null without samples.
[[nodiscard]] std::optional<TimeStats> time_stats(std::vector<double> samples_ns);

/// What stood for the recorded operator.
enum class TimedAs : std::uint8_t { kExact, kSubstitute, kStub, kCommunication };
[[nodiscard]] std::string_view to_string(TimedAs as);

/// A tensor among an instruction's arguments or results.
struct TimedTensor {
  DType dtype = DType::kUndefined;
  Device device;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;        ///< of a sparse one all 0
  std::optional<std::int64_t> stored = {};  ///< numbers that a sparse one holds, where known
  bool operator==(const TimedTensor&) const = default;
};

/// Under what a calibration timed a call of its own making.
struct TimedConditions {
  std::string call;      ///< the whole call as text, numbers and layouts included
  bool is_cold = false;  ///< what it read and wrote lay in no cache; else it was run just before
  int threads = 1;       ///< of the operator
  double zeros = 0;      ///< share of the elements that were zero, where that decides the time
  double speed_probe_ms = 0;  ///< of the machine just before (docs/metrics.md, "Operators")
  double at_s = 0;            ///< seconds of measuring before it, over all runs of the calibration
  /// Of indices into a table: what a lookup's time depends on besides the shapes.
  struct Lookups {
    std::int64_t rows = 0;     ///< that the table has
    std::int64_t lookups = 0;  ///< indices
    std::int64_t unique = 0;   ///< different ones among them
    bool operator==(const Lookups&) const = default;
  };
  std::optional<Lookups> lookups = {};
  bool operator==(const TimedConditions&) const = default;
};

/// One instruction of one rank.
struct InstructionTime {
  int rank = 0;
  std::uint64_t instruction =
      0;  ///< its number in the program, those of bodies counted, as in bench.et
  std::uint64_t node_id = 0;  ///< of the trace
  std::string name;           ///< "aten::add"
  std::string overload;       ///< "Tensor"; empty: the operator's default
  std::string op_class;
  TimedAs as = TimedAs::kExact;
  std::vector<TimedTensor> inputs;  ///< in the order of arguments, lists opened
  std::vector<TimedTensor> outputs;
  TimeStats host;                                  ///< of the call on the host's thread
  std::optional<TimeStats> device;                 ///< on the device's stream; null on a CPU
  std::optional<TimedConditions> conditions = {};  ///< of `calibrate`'s rows
  /// By name, of one call: "minor_faults", and "instructions", "cycles", "cache_misses" where the
  /// machine counts them. Empty where nothing was counted.
  std::map<std::string, double> counters = {};
  bool operator==(const InstructionTime&) const = default;
};

/// operators.jsonl: a header, and a row an instruction.
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

/// JSON lines, as docs/formats.md says.
[[nodiscard]] std::string to_json_lines(const OperatorTimes& times);
/// The line of one row; for files that grow while they are measured.
[[nodiscard]] std::string to_json_line(const InstructionTime& row);
/// Reads what to_json_lines wrote. Throws Error (bad input) with the line: not JSON, another
/// format or version, a field missing or of another type.
[[nodiscard]] OperatorTimes parse_operator_times(std::string_view text, const std::string& file);

/// The tensors of arguments or results.
[[nodiscard]] std::vector<TimedTensor> timed_tensors(const Program& program,
                                                     const std::vector<Argument>& arguments);

}  // namespace understudy::et_schema
