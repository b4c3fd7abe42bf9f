#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/operator_trust.h"
#include "replayer/options/monitor.h"

namespace understudy::replayer {

/// Which part of a benchmark is replayed.
enum class Only : std::uint8_t {
  kAll,
  kCompute,  ///< communications are uncounted local copies, so that their readers find values
  /// Operators are left out; tensors that they would have made are made before the run.
  kComms
};

/// The time at which operators are issued.
enum class Pace : std::uint8_t {
  kAsap,     ///< each as soon as the previous one has returned: the hardware's limit
  kRecorded  ///< each after the previous one and the original's gap, or later
};
/// Returns "asap" or "recorded".
[[nodiscard]] std::string_view to_string(Pace pace);

/// The path of GPU tensors between ranks.
enum class CommsPath : std::uint8_t {
  kNccl,  ///< from GPU to GPU
  kHost   ///< through host memory and the launcher's backend
};

/// Returns "nccl" or "host".
[[nodiscard]] std::string_view to_string(CommsPath path);

/// The device streams that operators run on.
enum class Streams : std::uint8_t {
  kOne,       ///< the current one
  kRecorded,  ///< the original's, from the linked profile: see streams.h
  kGraph      ///< the current one, by CUDA graphs of iterations
};

/// Returns "one", "recorded" or "graph".
[[nodiscard]] std::string_view to_string(Streams streams);

/// A slowdown of known size: operators of one class take this much longer.
struct PlantedSlowdown {
  std::string op_class;
  double percent = 0;
};

/// How a benchmark is replayed. The defaults are those of the `replay` program.
struct ReplayOptions {
  std::string device = "cpu";     ///< "cpu", "cuda" (this rank's), "cuda:N"
  int warmup = 2;                 ///< unmeasured iterations after the trial
  std::optional<int> iterations;  ///< unset: kDefaultIterations, or as many as `seconds` allow
  /// Time of the measured iterations. If unset: kUntilSeconds with `until_percent`; otherwise
  /// kDefaultSeconds, or no limit if `iterations` is set.
  std::optional<double> seconds;
  /// Measures until the 95 % interval of the median is within ± this many per cent, or a limit
  /// passes.
  std::optional<double> until_percent;
  std::optional<int> passes;  ///< timing passes; unset: derived from the measured iterations
  int threads = 0;            ///< 0: the cores of this host, divided among its ranks
  std::uint64_t seed = 0;
  Only only = Only::kAll;
  /// If unset: NCCL, or the host if ranks share a GPU, which NCCL does not support.
  std::optional<CommsPath> comms;
  /// If unset: graph if the original's device times are of graphs; recorded if communications had
  /// their own streams; else one.
  std::optional<Streams> streams;
  Pace pace = Pace::kAsap;
  std::optional<PlantedSlowdown> slow;
  std::optional<std::uint64_t> memory_limit_bytes;  ///< programs that need more are refused
  /// Seconds that a rank may block others without progress; unset: derived from the first
  /// iteration.
  std::optional<double> timeout_s;
  et_schema::CommOrder comm_order;  ///< of this rank among all; empty if it runs alone
  /// For a rank that runs alone: the simulated duration of each communication among all ranks, as
  /// in comm_order. If empty, durations are not simulated.
  std::vector<std::int64_t> comm_times_ns;
  bool require_steady_clocks = false;  ///< fails if a GPU's clocks were held down or changed
  bool continue_on_error = false;
  bool restores = true;         ///< restores the initial content between iterations
  bool operator_times = false;  ///< keeps the times of single instructions
  /// In timing passes each operator finds none of its tensors in a cache, and is then called again.
  bool cold = false;
  double sustained_s = 0;  ///< that each operator is called back to back after them; 0: not
  /// Counters to count after the timing passes, see chosen_counters(); empty: none.
  std::vector<std::string> counters;
  /// Operators that may be called although they have effects beyond computing.
  et_schema::AllowedOperators allowed_operators;
  et_schema::AllowedOperators library_operators;  ///< of libraries that the user loaded
  /// File for LibTorch's profile of a step after the measurement; empty: none.
  std::string trace;
  bool checksums = false;  ///< of the operators' results in a first iteration
  /// On a CPU: a first trial runs in memory that ends where its tensors end.
  bool guards_memory = false;
  Monitor monitor;
  /// Start of the program, for startup_ms.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// Returns the options for the report, which must be equal on all ranks of a job: flag → value.
/// Flags at a default that means "no limit" are omitted, and so is --device, which may differ by
/// rank.
[[nodiscard]] std::map<std::string, std::string> settings_of(const ReplayOptions& options);

inline constexpr int kDefaultIterations = 20;
inline constexpr double kDefaultSeconds = 30;
inline constexpr double kUntilSeconds = 120;

}  // namespace understudy::replayer
