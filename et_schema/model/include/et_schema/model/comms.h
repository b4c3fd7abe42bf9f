#pragma once

#include <cstddef>
#include <cstdint>
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
