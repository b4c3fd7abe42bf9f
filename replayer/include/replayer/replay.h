#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "backends/backend.h"
#include "et_schema/bench.h"
#include "et_schema/comm_order.h"
#include "et_schema/report.h"
#include "replayer/measure.h"
#include "replayer/monitor.h"
#include "replayer/pace.h"
#include "replayer/placement.h"

namespace understudy::replayer {

/// Which part of a benchmark is replayed.
enum class Only : std::uint8_t {
  kAll,
  kCompute,  ///< communications are local copies, uncounted, so that what reads them finds values
  kComms     ///< operators are left out; tensors that they would have made are made before the run
};

/// How a benchmark is replayed. The defaults are those of the `replay` program.
struct ReplayOptions {
  std::string device = "cpu";  ///< "cpu", "cuda" (this rank's), "cuda:N"
  int warmup = 2;              ///< iterations that are not measured, besides the checked first one
  std::optional<int> iterations;  ///< none: kDefaultIterations, or as many as `seconds` hold
  std::optional<double> seconds;  ///< of measured iterations; none: kDefaultSeconds, unless
                                  ///< `iterations` is given; with `until_percent` kUntilSeconds
  /// Measure until the 95 % interval of the median is ± so many per cent, or a limit passes.
  std::optional<double> until_percent;
  std::optional<int> passes;  ///< that time each operator; none: by the measured iterations
  int threads = 0;            ///< 0: the cores of this host, shared by its ranks
  std::uint64_t seed = 0;
  Only only = Only::kAll;
  std::optional<Place> place;  ///< of tensors recorded on the CPU; none: see choose_place()
  Pace pace;
  std::optional<PlantedSlowdown> slow;
  /// Page faults an iteration: so many; those of the original's steps, where the benchmark knows
  /// them (the default); or as they come.
  struct AsRecorded {};
  struct AsTheyCome {};
  std::variant<AsRecorded, AsTheyCome, std::uint64_t> page_faults;
  std::optional<std::uint64_t> memory_limit_bytes;  ///< refuse what needs more
  /// Seconds that a rank may make others wait without getting on; none: by the first iteration.
  std::optional<double> timeout_s;
  et_schema::CommOrder comm_order;     ///< of this rank among all; empty: it runs alone
  bool require_steady_clocks = false;  ///< of a GPU: fail if they were held down or moved
  bool leaves = false;
  bool continue_on_error = false;
  bool restores = true;  ///< of the tensors' first content, between iterations
  Monitor monitor;
  /// When the program started, for startup_ms.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

inline constexpr int kDefaultIterations = 20;
inline constexpr double kDefaultSeconds = 30;
inline constexpr double kUntilSeconds = 120;

/// One rank's share of a replay.
struct RankRun {
  et_schema::RankReport report;
  int threads = 0;
  std::string device;                           ///< as the report names it
  std::map<std::string, std::string> versions;  ///< torch and what else has a part in it
  /// "place"; "kernel.NAME" and "variable.NAME" of what the benchmark recorded.
  std::map<std::string, std::string> settings;
};

/// Replays rank `rank` of the benchmark in this process. All ranks of `backend` call it together.
/// Throws Error: failed (an operator, memory), usage (the device), bad input (a program that does
/// not fit itself).
[[nodiscard]] RankRun replay_rank(const et_schema::Bench& bench, int rank,
                                  backends::Backend& backend, const ReplayOptions& options);

/// What of this machine and build a result depends on; `device`, `threads` and `versions` are
/// taken from the run.
[[nodiscard]] et_schema::Environment describe_environment(const RankRun& run);

}  // namespace understudy::replayer
