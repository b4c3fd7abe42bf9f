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
  kCompute,  ///< communications are local copies, uncounted, so that what reads them finds values
  kComms     ///< operators are left out; tensors that they would have made are made before the run
};

/// When operators are issued.
enum class Pace : std::uint8_t {
  kAsap,     ///< each as soon as the one before it is done: what the hardware can do
  kRecorded  ///< none sooner after the one before it than in the original: the host's gaps stay
};
/// "asap", "recorded".
[[nodiscard]] std::string_view to_string(Pace pace);

/// Page faults of an iteration.
enum class PageFaults : std::uint8_t {
  kRecorded,  ///< as many as the original's steps had, if the benchmark knows them
  kAny        ///< left to the C library
};
/// "recorded", "any".
[[nodiscard]] std::string_view to_string(PageFaults page_faults);

/// Where tensors go that were recorded on the CPU. What was recorded on an accelerator is on the
/// replay's device always.
enum class Place : std::uint8_t {
  kRecorded,  ///< they stay there
  kDevice     ///< they move to the replay's device
};

/// "recorded", "device".
[[nodiscard]] std::string_view to_string(Place place);

/// How tensors of a GPU travel between ranks.
enum class CommsPath : std::uint8_t {
  kNccl,  ///< from GPU to GPU
  kHost   ///< through host memory, and by what the ranks were started with
};

/// "nccl", "host".
[[nodiscard]] std::string_view to_string(CommsPath path);

/// Which streams of a device operators run on.
enum class Streams : std::uint8_t {
  kOne,      ///< the current one
  kRecorded  ///< as many as in the original, by the linked profile: see streams.h
};

/// "one", "recorded".
[[nodiscard]] std::string_view to_string(Streams streams);

/// A slowdown of known size: operators of one class take so much longer.
struct PlantedSlowdown {
  std::string op_class;
  double percent = 0;
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
  /// None: NCCL, but where ranks share a GPU, which it is not made for, through the host.
  std::optional<CommsPath> comms;
  bool registers_buffers = false;  ///< with NCCL, where they are used first
  /// None: recorded where communications had streams of their own, else one.
  std::optional<Streams> streams;
  Pace pace = Pace::kAsap;
  std::optional<PlantedSlowdown> slow;
  PageFaults page_faults = PageFaults::kRecorded;
  std::optional<std::uint64_t> memory_limit_bytes;  ///< refuse what needs more
  /// Seconds that a rank may make others wait without getting on; none: by the first iteration.
  std::optional<double> timeout_s;
  et_schema::CommOrder comm_order;  ///< of this rank among all; empty: it runs alone
  /// By communication, as in comm_order, of a rank that runs alone: how long it takes among all
  /// ranks, which is simulated; empty: it is not.
  std::vector<std::int64_t> comm_times_ns;
  bool require_steady_clocks = false;  ///< of a GPU: fail if they were held down or moved
  bool leaves = false;
  bool continue_on_error = false;
  bool restores = true;         ///< of the tensors' first content, between iterations
  bool operator_times = false;  ///< keep the times of single instructions
  et_schema::AllowedOperators allowed_operators;  ///< though they do more than compute
  et_schema::AllowedOperators library_operators;  ///< of libraries that the user had loaded
  /// A step under LibTorch's profiler, after all that is measured: a file that its profile goes
  /// through; empty: none.
  std::string trace;
  bool checksums = false;  ///< of what operators give in a first iteration
  Monitor monitor;
  /// When the program started, for startup_ms.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// What a report says was asked for, and what all ranks of a job must have been asked alike: flag →
/// value. Left out are flags at a default that stands for "no limit", and --device, which may be
/// another on each rank.
[[nodiscard]] std::map<std::string, std::string> settings_of(const ReplayOptions& options);

inline constexpr int kDefaultIterations = 20;
inline constexpr double kDefaultSeconds = 30;
inline constexpr double kUntilSeconds = 120;

}  // namespace understudy::replayer
