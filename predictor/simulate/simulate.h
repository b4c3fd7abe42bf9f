#pragma once

#include <cstdint>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// How many times longer work takes while other work runs on the same device; 1: no interference.
struct OverlapFactors {
  double compute = 1;        ///< for operators, while a communication moves data
  double communication = 1;  ///< for a communication that starts while operators run
  double streams = 1;        ///< for operators, while another stream runs operators
};

/// Times between a call of the runtime and its work on the device, measured on profiles of a V100
/// and an A100: docs/prediction.md.
struct DeviceTraits {
  std::int64_t launch_ns = 5'000;      ///< from the middle of a call to the start of its kernel
  std::int64_t kernel_gap_ns = 1'000;  ///< from the end of a kernel to the start of the next
  /// Number of kernels by which a host can be ahead of its stream.
  std::uint32_t launch_queue = 1'024;
};

struct SimulateOptions {
  std::uint32_t warmup = 2;      ///< iterations before those that count
  std::uint32_t iterations = 2;  ///< iterations that count
  bool merge_ranks = true;       ///< ranks of one program with the same groups run as one
  bool spans = true;             ///< keep the spans, from which the critical path comes
  bool single_stream = false;    ///< run all of a device's work on its first stream
  OverlapFactors overlap = {};
  DeviceTraits device = {};
};

/// The time of an iteration on a rank. Each moment counts once, for the first field that applies.
/// On a GPU: operators run on the device; a communication is there, possibly waiting for other
/// ranks; the host is busy and the device waits for it; all wait. On a CPU: operators; the host
/// waits for communication; it is between operators; it waits for something else.
struct Breakdown {
  double compute_ns = 0;
  double exposed_communication_ns = 0;
  double host_bound_ns = 0;
  double idle_ns = 0;
  [[nodiscard]] double sum_ns() const {
    return compute_ns + exposed_communication_ns + host_bound_ns + idle_ns;
  }
};

enum class SpanKind : std::uint8_t {
  kHost,      ///< a thread in an operator; begin to start is the gap before it
  kHostWait,  ///< a thread that waits for a stream or a communication
  kDevice,    ///< the work of an operator on a stream
  kArrived,   ///< a communication that waits for other ranks
  kMoving     ///< a communication that has begun on all of them
};

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

/// A span of any rank: class of the rank, position among its spans.
struct SpanId {
  std::uint32_t rank_class = kNoIndex;
  std::uint32_t index = kNoIndex;
  [[nodiscard]] bool is_none() const { return index == kNoIndex; }
  bool operator==(const SpanId&) const = default;
};

struct Span {
  /// For a host's operator the end of what came before it; otherwise the start.
  std::int64_t begin_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t instruction = kNoIndex;  ///< none: a wait, the end of a step, or work that no
                                         ///< instruction launched
  std::uint32_t work = kNoIndex;  ///< position in Program::device_work, of it or of its launch
  std::uint32_t lane = 0;         ///< the timeline for a host's span, otherwise the stream
  SpanKind kind = SpanKind::kHost;
  SpanId cause = {};  ///< the span whose end began this one, or that issued it
  /// For a device's operator that waited for its launches: the time of the last launch. From then
  /// on its own time decides when it ends; `cause` issued it.
  std::int64_t launched_ns = 0;
};

/// Ranks that are simulated as one, and the results for each of them.
struct RankClass {
  std::uint32_t program = 0;
  std::vector<int> ranks;
  double iteration_ns = 0;
  std::int64_t first_step_ns = 0;  ///< time of the first iteration on the host
  Breakdown breakdown = {};        ///< times of one iteration
  std::vector<Span> spans = {};    ///< spans of the last two iterations
};

/// A stretch of the critical path: from the end of the last iteration back to its beginning.
struct PathPiece {
  std::int64_t ns = 0;
  SpanId span = {};
  bool is_gap = false;  ///< host time before the span's operator
};

/// The cost that the simulation used for an instruction.
struct PlayedCost {
  OperatorCost cost;
  Estimate gap;
  Estimate communication;
};

struct Simulation {
  double iteration_ns = 0;    ///< the mean of the iterations that count, for the whole job
  std::int64_t begin_ns = 0;  ///< begin of the last iteration
  std::int64_t end_ns = 0;
  std::vector<RankClass> classes;
  std::vector<PathPiece> critical_path;        ///< the latest first
  std::vector<Flow> flows;                     ///< by program
  std::vector<std::vector<PlayedCost>> costs;  ///< by program and instruction
  std::uint64_t events = 0;
};

/// Simulates the job's iterations one after the other. Deterministic: equal jobs, costs and options
/// give equal results. Throws Error (bad input): ranks that deadlock, with which rank waits in
/// which call for which other; members of a group that make different numbers of calls.
[[nodiscard]] Simulation simulate(const Job& job, const Costs& costs,
                                  const SimulateOptions& options = {});

}  // namespace understudy::predictor
