#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// The kinds of communication that record_param_comms records. comm_traits.h maps the names of all
/// PyTorch releases to them.
enum class CommKind : std::uint8_t {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,          ///< one input, a list of outputs
  kAllGatherBase,      ///< one input, one output (_allgather_base, all_gather_into_tensor)
  kReduceScatter,      ///< a list of inputs, one output
  kReduceScatterBase,  ///< one input, one output
  kGather,
  kScatter,
  kAllToAll,   ///< equal parts, or lists of tensors
  kAllToAllV,  ///< one tensor each way, uneven splits
  kSend,
  kRecv,
  kBarrier,
  kWait,
  kInit
};
inline constexpr std::size_t kCommKinds = static_cast<std::size_t>(CommKind::kInit) + 1;

/// Number of ranks per node that is assumed if it is unknown: a common node has 8 GPUs.
inline constexpr int kUsualRanksPerNode = 8;

enum class ReduceOp : std::uint8_t { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor };

/// "sum", "avg", "product", …: c10d's names.
[[nodiscard]] std::string_view to_string(ReduceOp op);

/// How the elements of all ranks are combined.
struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;  ///< multiplies each element before the sum: c10d's premultiplied sum
  bool operator==(const Reduction&) const = default;
};

/// Parses a name of ReduceOp, or "premul_sum:0.25" with a finite factor above 0. Returns nothing
/// for other texts.
[[nodiscard]] std::optional<Reduction> parse_reduction(std::string_view text);

/// Prefix of FSDP2's labels.
inline constexpr std::string_view kShardedDataParallelLabel = "FSDP::";

/// CommInfo::why of a synchronous call on a stream other than the operators' stream.
inline constexpr std::string_view kOwnStream = "stream of its own";
/// CommInfo::why of a synchronous call below a label of FSDP; also CommInfo::reduce_op_why.
inline constexpr std::string_view kShardedDataParallel = "label of sharded data parallel";

/// Returns true for sends and receives, which involve two ranks and have an order of their own.
[[nodiscard]] constexpr bool is_message(CommKind kind) {
  return kind == CommKind::kSend || kind == CommKind::kRecv;
}

/// Returns record_param_comms' name of the kind: "allreduce", "_allgather_base", "all_to_allv".
[[nodiscard]] std::string_view to_string(CommKind kind);

/// How a rank runs its communications without deadlock between ranks. Both lists have an entry per
/// communication, in the program's order, without waits and bodies.
struct CommOrder {
  /// Turns for backends that complete communications one at a time: a permutation of 0, 1, …. All
  /// ranks of a job use one order, which is the program's unless that would deadlock.
  std::vector<std::uint32_t> turns;
  /// True for a send that the program joins before its receive can have started. The replayer must
  /// buffer the data of such a send, since transports do not guarantee to do so.
  std::vector<bool> kept_apart;
  bool operator==(const CommOrder&) const = default;
};

}  // namespace understudy::et_schema
