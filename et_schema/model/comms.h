#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// The vocabulary of record_param_comms. Names of every era map to it: comm_traits.h has a row for
/// each.
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

/// The GPUs of a common node, where nothing tells how many ranks share one.
inline constexpr int kUsualRanksPerNode = 8;

enum class ReduceOp : std::uint8_t { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor };

/// "sum", "avg", "product", …: c10d's names.
[[nodiscard]] std::string_view to_string(ReduceOp op);

/// How the elements of all ranks become one.
struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;  ///< of each element, before they are added up: c10d's premultiplied sum
  bool operator==(const Reduction&) const = default;
};

/// A name of ReduceOp, or "premul_sum:0.25" with a factor that is finite and above 0; null:
/// anything else.
[[nodiscard]] std::optional<Reduction> parse_reduction(std::string_view text);

/// FSDP2's labels begin so.
inline constexpr std::string_view kShardedDataParallelLabel = "FSDP::";

/// CommInfo::why of a call that was synchronous on a stream beside the operators' one.
inline constexpr std::string_view kOwnStream = "stream of its own";
/// The same of one below a label of FSDP; also CommInfo::reduce_op_why.
inline constexpr std::string_view kShardedDataParallel = "label of sharded data parallel";

/// Sends and receives: between two ranks, in an order of their own.
[[nodiscard]] constexpr bool is_message(CommKind kind) {
  return kind == CommKind::kSend || kind == CommKind::kRecv;
}

/// record_param_comms' own name for the kind: "allreduce", "_allgather_base", "all_to_allv".
[[nodiscard]] std::string_view to_string(CommKind kind);

/// How a rank runs its communications so that ranks never wait for each other in a circle. Both by
/// communication of the program, in order of its instructions, waits and bodies apart.
struct CommOrder {
  /// Its turn where communications complete one at a time: all ranks of a job take turns in one
  /// order, which is that of the program wherever no circle forbids it. 0, 1, … in some order.
  std::vector<std::uint32_t> turns;
  /// A send that the program joins before its receive can have been started: its data has to be
  /// kept apart, since no transport promises to.
  std::vector<bool> kept_apart;
  bool operator==(const CommOrder&) const = default;
};

}  // namespace understudy::et_schema
