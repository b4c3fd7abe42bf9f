#pragma once

#include <cstdint>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

inline constexpr double kMsPerNs = 1e-6;

/// Times between a call of the runtime and its work on the device, measured on profiles of a V100
/// and an A100: docs/prediction.md.
struct DeviceTraits {
  std::int64_t launch_ns = 5'000;      ///< from the middle of a call to the start of its kernel
  std::int64_t kernel_gap_ns = 1'000;  ///< from the end of a kernel to the start of the next
  /// Number of kernels by which a host can be ahead of its stream.
  std::uint32_t launch_queue = 1'024;
  /// Share of the time in which communication moves that kernels beside it stand still.
  double lost_beside = 0;
};

struct SimulateOptions {
  std::uint32_t warmup = 2;      ///< iterations before those that count
  std::uint32_t iterations = 2;  ///< iterations that count
  bool merge_ranks = true;       ///< ranks of one program with the same groups run as one
  bool spans = true;             ///< keep the spans, from which the critical path comes
  DeviceTraits device = {};
};

/// The time of an iteration on a rank. Each moment counts once, for the first matching field. On a
/// GPU: operators run on the device; a communication is present, possibly waiting for other ranks;
/// the host is busy while the device waits for it; everything waits. On a CPU: operators; the host
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

/// No launch takes longer. Work that begins later, and a wait that lasts longer after all work, was
/// waiting for something that the profile does not show.
inline constexpr std::int64_t kLateNs = 300'000;

enum class SpanKind : std::uint8_t {
  kHost,      ///< a thread in an operator; the gap before it is [begin_ns, start_ns)
  kHostWait,  ///< a thread waiting for a stream or a communication
  kStall,     ///< a thread waiting for something that the profile does not show
  kDevice,    ///< the work of an operator on a stream
  kArrived,   ///< a communication waiting for other ranks
  kMoving     ///< a communication that has begun on all ranks
};

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

/// A span of any rank: its rank class, and its index among the spans of that class.
struct SpanId {
  std::uint32_t rank_class = kNoIndex;
  std::uint32_t index = kNoIndex;
  [[nodiscard]] bool is_none() const { return index == kNoIndex; }
  bool operator==(const SpanId&) const = default;
};

struct Span {
  /// End of the previous work, for a host's operator; otherwise the start.
  std::int64_t begin_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  /// kNoIndex: a wait, the end of a step, or work that no instruction launched.
  std::uint32_t instruction = kNoIndex;
  std::uint32_t work = kNoIndex;  ///< index in Program::device_work, for the work or its launch
  std::uint32_t lane = 0;         ///< the timeline for a host's span, otherwise the stream
  SpanKind kind = SpanKind::kHost;
  SpanId cause = {};  ///< the span whose end started this one, or which issued it
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

/// A piece of the critical path, which leads from the end of the last iteration back to its start.
struct PathPiece {
  std::int64_t ns = 0;
  SpanId span = {};
  enum class Part : std::uint8_t {
    kItself,
    kGap,  ///< host time before the span's operator
    kLate  ///< before work that could have begun, while the device shows no other
  } part = Part::kItself;
};

/// The cost that the simulation used for an instruction.
struct PlayedCost {
  OperatorCost cost;
  Estimate gap;
  Estimate communication;
};

struct Simulation {
  double iteration_ns = 0;    ///< mean of the iterations that count, for the whole job
  std::int64_t begin_ns = 0;  ///< start of the last iteration
  std::int64_t end_ns = 0;
  std::vector<RankClass> classes;
  std::vector<PathPiece> critical_path;        ///< the latest first
  std::vector<Flow> flows;                     ///< by program
  std::vector<std::vector<PlayedCost>> costs;  ///< by program and instruction
  /// By program and index in Program::device_work: the cost of work that no instruction launched.
  std::vector<std::vector<Estimate>> outside;
  std::uint64_t events = 0;
};

/// Simulates the job's iterations in sequence. Deterministic: equal jobs, costs and options give
/// equal results. Throws Error (bad input) if ranks deadlock, naming the waiting ranks and calls,
/// or if members of a group make different numbers of calls.
[[nodiscard]] Simulation simulate(const Job& job, const Costs& costs,
                                  const SimulateOptions& options = {});

}  // namespace understudy::predictor
