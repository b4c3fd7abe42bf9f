#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/gpu_use.h"
#include "et_schema/model/measurement.h"

namespace understudy::et_schema {

/// Version of the report's format; see bench.h for the rule.
inline constexpr int kReportVersion = 1;

/// Iteration times; percentiles as in statistics.h. All null without
/// samples.
struct IterationStats {
  std::optional<double> min, median, p10, p90, p99;
  std::optional<double> median_low, median_high;  ///< see median_interval()
  std::vector<double> samples;                    ///< in order of iteration
};
[[nodiscard]] IterationStats iteration_stats(std::vector<double> samples_ms);

/// One row of a coverage list. `note` is the key `by`, `reason` or nothing, by the list it stands
/// in.
struct NamedCount {
  std::string name;
  std::uint64_t count = 0;
  std::string note;
  bool operator==(const NamedCount&) const = default;
};

/// A part of the step's recorded time.
struct TimeShare {
  std::string name;
  double share = 0;
  bool operator==(const TimeShare&) const = default;
};

/// A part of the recorded device time of a step (docs/metrics.md, "Device time").
struct DeviceTime {
  std::string kernel_class;  ///< kernel_class(); "not told" where a benchmark does not say
  std::string fate;          ///< what it is in the benchmark, or became in a replay
  double ms = 0;
  double share = 0;  ///< of the step's device time
  bool operator==(const DeviceTime&) const = default;
};

struct Coverage {
  std::optional<double> count;             ///< replayed ÷ selected; null when nothing was selected
  std::optional<double> time;              ///< null as long as no profile is linked
  std::optional<double> substituted_time;  ///< share of recorded time in what was substituted
  std::optional<double> dropped_time;      ///< the same of what was dropped or stubbed
  std::vector<TimeShare> other_time;       ///< the rest of it, by what it is; of a job that of the
                                           ///< rank with the lowest `time`
  std::vector<DeviceTime> device_time;     ///< of the original, by class of kernel and what became
                                           ///< of it; of a job all ranks' together
  std::uint64_t selected = 0;              ///< exact + substituted + stubbed + dropped
  std::uint64_t replayed = 0;              ///< exact + substituted
  std::uint64_t exact = 0;
  std::vector<NamedCount> substituted;     ///< note: by what
  std::vector<NamedCount> stubbed;         ///< note: by what
  std::vector<NamedCount> dropped;         ///< note: the reason
  std::vector<NamedCount> not_applicable;  ///< note: the reason
  std::vector<NamedCount> pinned_outputs;  ///< no note
};

/// Tensors with at least one such element, by the scans of the run.
struct ValueHealth {
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t subnormal = 0;
  std::uint64_t recorded_inf =
      0;  ///< infinities that the trace itself writes (a mask), apart from inf
};

struct MemoryUse {
  std::uint64_t peak_bytes =
      0;  ///< highest sum of live tensor bytes at the allocator, externals touched included
  std::uint64_t live_peak_bytes =
      0;  ///< highest sum of the intermediates' bytes by the program's lifetimes
  std::uint64_t external_bytes = 0;  ///< touched bytes of the externals
};

/// Time of one operator, summed over the calls of an iteration.
struct OperatorTime {
  std::string name;
  std::string op_class;  ///< "matmul", "convolution", "elementwise", …: docs/metrics.md
  std::uint64_t count = 0;
  double ms = 0;                        ///< sum of each call's median over the profiled iterations
  std::vector<double> samples_ms = {};  ///< one a profiled iteration
  std::optional<double> recorded_ms = {};         ///< in the original, from its linked profile
  std::optional<double> device_ms = {};           ///< on the device; absent on the CPU
  std::vector<double> device_samples_ms = {};     ///< one a pass that was timed there
  std::optional<double> recorded_device_ms = {};  ///< on the original's device, by its profile
};

/// One collective of one size. Bandwidths by nccl-tests' formulas: docs/metrics.md.
struct CollectiveTime {
  std::string name;
  std::string group;
  std::uint64_t count = 0;  ///< calls an iteration
  std::uint64_t bytes = 0;  ///< nccl-tests' size of one call
  int group_size = 0;
  std::optional<double> median_us;
  std::optional<double> algbw_gb_per_s;
  std::optional<double> busbw_gb_per_s;
  std::vector<double> samples_us = {};  ///< all passes of the first call, then of the next
  /// Of a job, where a collective cannot end before its last rank has come: what that rank's call
  /// took, and how much longer the longest took, which is waiting. Medians over the calls.
  std::optional<double> moving_us = {};
  std::optional<double> waiting_us = {};
  std::vector<double> moving_samples_us = {};  ///< in the order of samples_us
  // Of iterations in which calls run beside operators, as they were recorded, the medians:
  std::optional<double> exposed_us = {};    ///< time of the host in its start and its wait
  std::optional<double> in_flight_us = {};  ///< from its start to its end
  std::optional<double> arrival_us = {};    ///< of a rank: from the iteration's begin to its start
  /// Of a job: between the first and the last rank's arrival, and which that is.
  std::optional<double> arrival_spread_us = {};
  std::optional<int> last_rank = {};
};

/// What communication costs an iteration in which it runs beside operators.
struct CommunicationUse {
  std::optional<double> exposed_ms;     ///< the host's time in starts and waits
  std::optional<double> in_flight_ms;   ///< calls from their start to their end, in sum
  std::optional<double> overlap_share;  ///< of that, beside something else
  bool operator==(const CommunicationUse&) const = default;
};

/// How operators were issued in the measured iterations, and how well that was kept.
struct PaceUse {
  std::string mode = "asap";       ///< "asap", "recorded", "host", "scaled:0.5"
  std::uint64_t paced = 0;         ///< operators an iteration that have a recorded issue time
  std::uint64_t on_time = 0;       ///< issues that were ready before their gap was over
  std::uint64_t unready = 0;       ///< all others: most have next to no gap
  std::uint64_t late = 0;          ///< issues behind their recorded start by what ran before them
  std::uint64_t own_threads = 0;   ///< recorded threads that were replayed on threads of their own
  std::uint64_t device_waits = 0;  ///< recorded waits for the device between operators
  std::optional<double> error_median_us;  ///< of those on time: issued after the gap's end by
  std::optional<double> error_p99_us;
  std::optional<double> unready_ms;       ///< Σ over the unready, an iteration
  std::optional<double> late_ms;          ///< the mean over the late
  std::optional<double> drift_median_us;  ///< issue − recorded start, since the step's start
  std::optional<double> drift_p99_us;     ///< of its magnitude
  std::optional<double> drift_end_us;     ///< the same of the step's end: the iterations' median
  std::optional<double> device_wait_recorded_ms;  ///< Σ recorded time of the waits, an iteration
  std::optional<double>
      device_wait_ms;  ///< what these took here; null where nothing was waited for
};

/// Where an iteration waits, and what tells so: the trace or the profile, the flow of data, or
/// neither.
struct WaitUse {
  std::uint64_t joins_recorded = 0;    ///< communications that a recorded wait joins
  std::uint64_t joins_inferred = 0;    ///< joined by what first needs their result
  std::uint64_t joins_missing = 0;     ///< by the end of the step
  std::uint64_t streams_recorded = 0;  ///< waits of a stream for an event, as in the profile
  std::uint64_t streams_inferred = 0;  ///< by the flow of data between streams
  std::uint64_t streams_missing = 0;   ///< of the profile, without counterpart here
  bool operator==(const WaitUse&) const = default;
};

/// What the system counted, an iteration: means over the measured ones.
struct SystemCounters {
  std::optional<double> cpu_ms;  ///< of all threads of the process, user and system
  std::optional<double> minor_faults;
  std::optional<double> major_faults;
  std::optional<double> involuntary_switches;
  std::optional<double> instructions;  ///< hardware: null where the machine does not count them
  std::optional<double> cycles;
  std::optional<double> cache_misses;
  std::string hardware = "not counted";  ///< "counted", or why not
};

/// The original step, from its linked profile and capture.
struct OriginalStep {
  std::optional<double> step_ms;        ///< its duration on the host, observer cost removed
  std::optional<double> operators_ms;   ///< Σ host time of the program's operators
  std::optional<double> unprofiled_ms;  ///< median of the steps that nothing observed
};

/// An output of the first iteration that differs from the recorded one.
struct OutputMismatch {
  std::uint64_t node = 0;
  std::string name;
  std::string field;  ///< "shape", "dtype", "stride", "undefined"
  std::string expected;
  std::string got;
};

/// An operator whose result a scan found to hold NaN, Inf or subnormal numbers first.
struct ValueFinding {
  std::uint64_t node = 0;
  std::string name;
  std::string kind;             ///< "nan", "inf", "subnormal"
  std::uint64_t iteration = 0;  ///< measured iterations before it was found
};

/// What a rank and a whole job both report.
struct RunFigures {
  bool complete = true;  ///< false: a signal ended the measurement
  IterationStats iteration_ms;
  Coverage coverage;
  std::uint64_t output_mismatches = 0;
  std::uint64_t outputs_checked = 0;
  std::vector<OutputMismatch> mismatches;  ///< the first 100
  ValueHealth values;
  std::vector<ValueFinding>
      value_findings;  ///< the first 20, in program order of the scan that found them
  MemoryUse memory;
  PaceUse pace;
  WaitUse waits;
  SystemCounters counters;
  MeasurementUse measurement;
  OriginalStep original;
  std::vector<double> gap_samples_ms;  ///< of each profiled iteration: time outside of operators
  /// Before each profiled iteration on the CPU: a fixed piece of work, docs/metrics.md,
  /// "Operators".
  std::vector<double> speed_probe_samples_ms;
  std::vector<double>
      iteration_speed_probe_samples_ms;                 ///< the same before each measured iteration
  std::optional<double> host_overhead_ns_per_operator;  ///< null: below the resolution
  std::optional<double> host_overhead_resolution_ns;    ///< null: it was not measured
  std::map<std::string, std::uint64_t> losses;
  std::vector<OperatorTime> operators;  ///< by falling time
  std::vector<CollectiveTime> collectives;
  CommunicationUse communication;
  std::optional<double> startup_ms;  ///< from the program's start to the first iteration
  std::optional<double> first_iteration_ms;
};

struct RankReport : RunFigures {
  int rank = 0;
  std::optional<GpuUse> gpu;          ///< absent on the CPU
  std::optional<HostLoad> host_load;  ///< absent where the system does not tell
};

/// What a result depends on beside the benchmark.
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
  RunFigures total;  ///< of all ranks, as report_fields.h says of each figure
  std::vector<RankReport> ranks;
  std::vector<std::string> filters;
  std::vector<MeasurementWarning> warnings;  ///< see measurement_warnings()
  Environment environment;
};

/// Builds the top level from the ranks: `samples` are per iteration the slowest rank's.
[[nodiscard]] Report merge(std::vector<RankReport> ranks, std::vector<std::string> filters,
                           Environment environment);

}  // namespace understudy::et_schema
