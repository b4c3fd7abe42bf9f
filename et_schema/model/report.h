#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/facts/counters.h"
#include "et_schema/model/counter_comparison.h"
#include "et_schema/model/gpu_use.h"
#include "et_schema/model/measurement.h"
#include "et_schema/model/step_work.h"

namespace understudy::et_schema {

/// Version of the report's format; see bench.h for the rule.
inline constexpr int kReportVersion = 1;

/// Iteration times; percentiles as in statistics.h. All are unset without samples.
struct IterationStats {
  std::optional<double> min, median, p10, p90, p99;
  std::optional<double> median_low, median_high;  ///< see median_interval()
  std::vector<double> samples;                    ///< in order of iteration
};
[[nodiscard]] IterationStats iteration_stats(std::vector<double> samples_ms);

/// A row of a coverage list. `note` is the value of the list's key `by` or `reason`, or empty.
struct NamedCount {
  std::string name;
  std::uint64_t count = 0;
  std::string note;
  bool operator==(const NamedCount&) const = default;
};

struct TimeShare {
  std::string name;
  double share = 0;
  bool operator==(const TimeShare&) const = default;
};

/// A part of the recorded device time of a step (docs/metrics.md, "Device time").
struct DeviceTime {
  std::string kernel_class;  ///< kernel_class(); "not told" if the benchmark lacks it
  std::string fate;          ///< kind in the benchmark, or outcome in a replay
  double ms = 0;
  double share = 0;  ///< of the step's device time
  bool operator==(const DeviceTime&) const = default;
};

struct Coverage {
  std::optional<double> count;             ///< replayed ÷ selected; unset if nothing was selected
  std::optional<double> time;              ///< unset if no profile is linked
  std::optional<double> substituted_time;  ///< recorded time of substituted operators, as a share
  std::optional<double> dropped_time;      ///< the same for dropped or stubbed operators
  /// The remaining time by its origin. A job has the list of the rank with the lowest `time`.
  std::vector<TimeShare> other_time;
  /// Device time of the original by kernel class and fate. A job has the sum over all ranks.
  std::vector<DeviceTime> device_time;
  std::uint64_t selected = 0;  ///< exact + substituted + stubbed + dropped
  std::uint64_t replayed = 0;  ///< exact + substituted
  std::uint64_t exact = 0;
  std::vector<NamedCount> substituted;     ///< note: the substitute
  std::vector<NamedCount> stubbed;         ///< note: the stub
  std::vector<NamedCount> dropped;         ///< note: the reason
  std::vector<NamedCount> not_applicable;  ///< note: the reason
  std::vector<NamedCount> pinned_outputs;  ///< no note
};

/// Numbers of tensors in which the run's scans found at least one NaN, Inf or subnormal number.
struct ValueHealth {
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t subnormal = 0;
  /// Infinities that the trace itself writes (a mask); not in `inf`.
  std::uint64_t recorded_inf = 0;
};

struct MemoryUse {
  /// Highest sum of live tensor bytes in the allocator, including touched externals.
  std::uint64_t peak_bytes = 0;
  /// Highest sum of the intermediates' bytes, by the program's lifetimes.
  std::uint64_t live_peak_bytes = 0;
  std::uint64_t external_bytes = 0;  ///< touched bytes of the externals
};

/// Time of one operator, summed over the calls of an iteration.
struct OperatorTime {
  std::string name;
  std::string op_class;  ///< "matmul", "convolution", "elementwise", …: docs/metrics.md
  std::uint64_t count = 0;
  double ms = 0;                        ///< sum of each call's median over the profiled iterations
  std::vector<double> samples_ms = {};  ///< one per profiled iteration
  std::optional<double> recorded_ms = {};         ///< in the original, by its linked profile
  std::optional<double> device_ms = {};           ///< on the device; unset on the CPU
  std::vector<double> device_samples_ms = {};     ///< one per pass that was timed on the device
  std::optional<double> recorded_device_ms = {};  ///< on the original's device, by its profile
  Counters counters = {};           ///< of its calls in an iteration: medians over the passes
  Counters recorded_counters = {};  ///< in the original
};

/// One collective of one size. Bandwidths follow nccl-tests' formulas: docs/metrics.md.
struct CollectiveTime {
  std::string name;
  std::string group;
  std::uint64_t count = 0;  ///< calls per iteration
  std::uint64_t bytes = 0;  ///< nccl-tests' size of one call
  int group_size = 0;
  std::optional<double> median_us;
  std::optional<double> algbw_gb_per_s;
  std::optional<double> busbw_gb_per_s;
  std::vector<double> samples_us = {};  ///< all passes of the first call, then of the next
  /// Jobs only, if the collective cannot end before its last rank has joined: duration of that
  /// rank's call, and how much longer the longest call took (waiting). Medians over the calls.
  std::optional<double> moving_us = {};
  std::optional<double> waiting_us = {};
  std::vector<double> moving_samples_us = {};  ///< in the order of samples_us
  // Medians over iterations in which calls overlap with operators, as recorded:
  std::optional<double> exposed_us = {};    ///< host time in its start and its wait
  std::optional<double> in_flight_us = {};  ///< from its start to its end
  std::optional<double> arrival_us = {};    ///< ranks only: from the iteration's begin to its start
  /// Jobs only: time between the first and the last rank's arrival, and the last rank.
  std::optional<double> arrival_spread_us = {};
  std::optional<int> last_rank = {};
};

/// Communication's cost per iteration if it overlaps with operators.
struct CommunicationUse {
  std::optional<double> exposed_ms;     ///< host time in starts and waits
  std::optional<double> in_flight_ms;   ///< sum over the calls, from start to end
  std::optional<double> overlap_share;  ///< share of in_flight_ms that overlaps with other work
  bool operator==(const CommunicationUse&) const = default;
};

/// How operators were paced in the measured iterations, and how precisely.
struct PaceUse {
  std::string mode = "asap";       ///< "asap", "recorded", "host", "scaled:0.5"
  std::uint64_t paced = 0;         ///< operators per iteration with a recorded issue time
  std::uint64_t on_time = 0;       ///< issues that were ready before their gap ended
  std::uint64_t unready = 0;       ///< all other issues: most have next to no gap
  std::uint64_t late = 0;          ///< issues that preceding work delayed past their recorded start
  std::uint64_t own_threads = 0;   ///< recorded threads that have a replay thread of their own
  std::uint64_t device_waits = 0;  ///< recorded waits for the device between operators
  std::optional<double> error_median_us;  ///< delay of on-time issues after the end of their gap
  std::optional<double> error_p99_us;
  std::optional<double> unready_ms;       ///< Σ delay of unready issues per iteration
  std::optional<double> late_ms;          ///< mean delay of late issues
  std::optional<double> drift_median_us;  ///< issue − recorded start, each since the step's start
  std::optional<double> drift_p99_us;     ///< of the drift's magnitude
  std::optional<double> drift_end_us;     ///< drift of the step's end: median over iterations
  /// Σ recorded time of the device waits per iteration.
  std::optional<double> device_wait_recorded_ms;
  /// Σ measured time of the device waits per iteration; unset if there were none.
  std::optional<double> device_wait_ms;
};

/// Where an iteration waits, and the source of each wait: the trace or the profile, the flow of
/// data, or neither.
struct WaitUse {
  std::uint64_t joins_recorded = 0;    ///< communications joined by a recorded wait
  std::uint64_t joins_inferred = 0;    ///< joined by the first use of their result
  std::uint64_t joins_missing = 0;     ///< joined by the end of the step
  std::uint64_t streams_recorded = 0;  ///< a stream's waits for an event, from the profile
  std::uint64_t streams_inferred = 0;  ///< inferred from the flow of data between streams
  std::uint64_t streams_missing = 0;   ///< waits of the profile without counterpart in the replay
  bool operator==(const WaitUse&) const = default;
};

/// What ran as CUDA graphs in an iteration. Without graphs all is zero.
struct GraphUse {
  std::uint64_t graphs = 0;            ///< launched one after another
  std::uint64_t captured = 0;          ///< instructions in them
  std::uint64_t launches_saved = 0;    ///< kernels, copies and fills in them, less `graphs`
  std::optional<double> device_share;  ///< of the device's time; unset if it was not measured
  std::vector<NamedCount> prevented;   ///< instructions outside of the graphs; note: the reason
  bool operator==(const GraphUse&) const = default;
};

/// The original step, from its linked profile and capture.
struct OriginalStep {
  std::optional<double> step_ms;        ///< its duration on the host, observer cost removed
  std::optional<double> operators_ms;   ///< Σ host time of the program's operators
  std::optional<double> unprofiled_ms;  ///< median of unobserved steps
  Counters counters = {};               ///< of a step, if its profile or capture has any
  std::string doubts = {};              ///< device_doubts(), of this rank
};

/// An output of the first iteration that differs from the recorded one.
struct OutputMismatch {
  std::uint64_t node = 0;
  std::string name;
  std::string field;  ///< "shape", "dtype", "stride", "undefined"
  std::string expected;
  std::string got;
};

/// An operator in whose result a scan first found NaN, Inf or subnormal numbers.
struct ValueFinding {
  std::uint64_t node = 0;
  std::string name;
  std::string kind;             ///< "nan", "inf", "subnormal"
  std::uint64_t iteration = 0;  ///< measured iterations before the finding
};

/// The state of a source of counters that counted.
inline constexpr const char* kCounted = "counted";

/// Figures that a rank and a whole job both report.
struct RunFigures {
  bool complete = true;  ///< false: a signal ended the measurement
  IterationStats iteration_ms;
  Coverage coverage;
  std::uint64_t output_mismatches = 0;
  std::uint64_t outputs_checked = 0;
  std::vector<OutputMismatch> mismatches;  ///< the first 100
  ValueHealth values;
  /// The first 20, in program order of the scan that found them.
  std::vector<ValueFinding> value_findings;
  MemoryUse memory;
  StepWork work;
  PaceUse pace;
  WaitUse waits;
  GraphUse graphs;
  /// Per iteration. Those of the system and the processor are means over the measured iterations;
  /// others were counted in passes after them, and are medians over these.
  Counters counters;
  Counters counter_spreads;  ///< from the 10th to the 90th percentile of these passes
  /// By source ("perf", "gpm", …): kCounted, or why it counted nothing.
  std::map<std::string, std::string> counter_sources;
  MeasurementUse measurement;
  OriginalStep original;
  std::vector<double> gap_samples_ms;  ///< time outside of operators in each profiled iteration
  /// CPU only: time of a fixed piece of work before each profiled iteration (docs/metrics.md,
  /// "Operators").
  std::vector<double> speed_probe_samples_ms;
  /// The same before each measured iteration.
  std::vector<double> iteration_speed_probe_samples_ms;
  std::optional<double> host_overhead_ns_per_operator;  ///< unset: below the resolution
  std::optional<double> host_overhead_resolution_ns;    ///< unset: not measured
  std::map<std::string, std::uint64_t> losses;
  std::vector<OperatorTime> operators;  ///< by descending time
  std::vector<CollectiveTime> collectives;
  CommunicationUse communication;
  std::optional<double> startup_ms;  ///< from the program's start to the first iteration
  std::optional<double> first_iteration_ms;
};

struct RankReport : RunFigures {
  int rank = 0;
  std::optional<GpuUse> gpu;          ///< absent on the CPU
  std::optional<HostLoad> host_load;  ///< absent if the system does not report it
};

/// Environment::backend of a rank that ran alone with simulated communication.
inline constexpr const char* kSimulatedComms = "simulated";

/// Everything that a result depends on beside the benchmark.
struct Environment {
  std::string tool_version;
  std::string benchmark;       ///< base name of the input
  std::string benchmark_hash;  ///< see bench.h
  std::string date_utc;
  std::string device;  ///< "cpu", "cuda:0 NVIDIA …"
  std::string cpu_model;
  int cpu_count = 0;
  int threads = 0;
  std::string backend;  ///< "single", "mpi"
  std::vector<std::string> hosts;
  std::map<std::string, std::string> versions;  ///< torch, mpi, compiler, kernel, op libraries
  std::map<std::string, std::string> settings;  ///< seed, warmup, iterations, flags
};

/// The whole report of a job. The top level is derived from `ranks` by merge().
struct Report {
  int world_size = 1;
  RunFigures total;  ///< of all ranks; report_fields.h combines each figure
  std::vector<RankReport> ranks;
  std::vector<std::string> filters;
  std::vector<MeasurementWarning> warnings;                ///< see measurement_warnings()
  std::vector<ComparedCounter> counters_against_original;  ///< see counter_resemblance()
  Environment environment;
};

/// Builds the top level from the ranks. Each iteration's sample is that of the slowest rank.
[[nodiscard]] Report merge(std::vector<RankReport> ranks, std::vector<std::string> filters,
                           Environment environment);

}  // namespace understudy::et_schema
