#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/facts/counters.h"
#include "et_schema/formats/operator_times/ceiling.h"
#include "et_schema/model/operator_call.h"

namespace understudy::et_schema {

/// Version of the format; see bench.h for the rule.
inline constexpr int kOperatorTimesVersion = 1;

/// Times of a call, in ns. Percentiles are interpolated linearly. Public tables have no samples:
/// their rows set only `n`, `median_ns` and `spread_ns`.
struct TimeStats {
  std::size_t n = 0;
  double min_ns = 0, p10_ns = 0, median_ns = 0, p90_ns = 0, mean_ns = 0;
  double spread_ns = 0;  ///< from the 10th to the 90th percentile; 0: unknown
  bool operator==(const TimeStats&) const = default;
};
/// Returns null without samples.
[[nodiscard]] std::optional<TimeStats> time_stats(std::vector<double> samples_ns);

/// How the replay executed the recorded operator.
enum class RanAs : std::uint8_t { kExact, kSubstitute, kStub, kCommunication };
[[nodiscard]] std::string_view to_string(RanAs as);

/// The work that a time covers.
enum class TimedAs : std::uint8_t {
  /// A call and the wait for its end, averaged over many; never below the host's time.
  kTimedCall,
  kDevice,  ///< device work only, without the host
  kHost     ///< a call on the host, which does the work itself
};
[[nodiscard]] std::string_view to_string(TimedAs timed);
[[nodiscard]] std::optional<TimedAs> timed_as_from_string(std::string_view name);

/// Conditions under which a call was timed by itself, with `replay --cold` or `--sustained`.
struct TimedConditions {
  std::string call = {};  ///< of `calibrate`: the whole call as text, with numbers and layouts
  bool is_cold = false;   ///< its tensors were in no cache; otherwise the call ran just before
  /// One of many calls back to back for seconds (`--sustained`), at the device's power and clock in
  /// such work; otherwise a burst: a call by itself.
  bool is_sustained = false;
  int threads = 1;            ///< used by the operator
  double speed_probe_ms = 0;  ///< of `calibrate`: in the same passes (docs/metrics.md, "Operators")
  bool operator==(const TimedConditions&) const = default;
};

/// A call and what was measured of it, from any kind of file. Members that a file does not tell
/// keep their defaults.
struct MeasuredCall {
  OperatorCall call;
  std::string op_class = {};
  RanAs as = RanAs::kExact;
  std::string source = {};  ///< the file's name
  int rank = 0;
  std::uint64_t instruction = 0;  ///< number in the program, counting bodies, as in bench.et
  std::uint64_t node_id = 0;      ///< id of the trace's node
  std::string device = {};        ///< the card's name, or "cpu" for a host
  int threads = 0;                ///< threads of the operator on a host; 0 on a card
  TimeStats host = {};            ///< time of the call on the host thread
  std::optional<TimeStats> on_device = {};  ///< time on the device's stream
  std::optional<TimeStats> timed_call = {};
  /// Per call by name: "minor_faults", and if the machine counts them "instructions", "cycles",
  /// "cache_misses"; "dram_bytes", "energy_j".
  Counters counters = {};
  std::optional<TimedConditions> conditions = {};  ///< set with --cold
  bool operator==(const MeasuredCall&) const = default;

  /// What the time of the call's work covers, and that time.
  [[nodiscard]] TimedAs timed() const {
    return on_device ? TimedAs::kDevice : timed_call ? TimedAs::kTimedCall : TimedAs::kHost;
  }
  [[nodiscard]] const TimeStats& time() const {
    return on_device ? *on_device : timed_call ? *timed_call : host;
  }
  void set_time(TimedAs kind, const TimeStats& stats) {
    if (kind == TimedAs::kHost) {
      host = stats;
    } else {
      (kind == TimedAs::kDevice ? on_device : timed_call) = stats;
    }
  }
};

/// operators.jsonl: a header, and one row per instruction. Rows do not name their source, device
/// and threads.
struct OperatorTimes {
  std::string tool_version;
  std::string benchmark;  ///< file name
  std::string benchmark_hash;
  std::string device;
  int threads = 0;
  int world_size = 1;
  std::vector<Ceiling> ceilings;  ///< of this machine, with `replay --cold`
  std::vector<MeasuredCall> rows;
  bool operator==(const OperatorTimes&) const = default;
};

/// Returns JSON lines as described in docs/formats.md.
[[nodiscard]] std::string to_json_lines(const OperatorTimes& times);
/// Parses the result of to_json_lines(). Throws Error (bad input) with the line if it is not JSON,
/// has another format or version, or a field is missing or has another type.
[[nodiscard]] OperatorTimes parse_operator_times(std::string_view text, const std::string& file);

}  // namespace understudy::et_schema
