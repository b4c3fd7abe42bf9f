#include "et_schema/model/comm_names.h"

#include <array>

#include "et_schema/support/assert.h"

namespace understudy::et_schema {
namespace {

struct RecordedName {
  std::string_view name;
  CommKind kind;
};

// The first name of each kind is its canonical one.
constexpr std::array kRecordedNames = {
    RecordedName{"allreduce", CommKind::kAllReduce},
    RecordedName{"allreduce_coalesced", CommKind::kAllReduce},
    RecordedName{"allreduce_sparse", CommKind::kAllReduce},
    RecordedName{"broadcast", CommKind::kBroadcast},
    RecordedName{"_broadcast_oop", CommKind::kBroadcast},
    RecordedName{"reduce", CommKind::kReduce},
    RecordedName{"_reduce_oop", CommKind::kReduce},
    RecordedName{"all_gather", CommKind::kAllGather},
    RecordedName{"all_gatherv", CommKind::kAllGather},
    RecordedName{"_allgather_base", CommKind::kAllGatherBase},
    RecordedName{"allgather_into_tensor_coalesced", CommKind::kAllGatherBase},
    RecordedName{"reduce_scatter", CommKind::kReduceScatter},
    RecordedName{"reduce_scatterv", CommKind::kReduceScatter},
    RecordedName{"_reduce_scatter_base", CommKind::kReduceScatterBase},
    RecordedName{"reduce_scatter_tensor_coalesced", CommKind::kReduceScatterBase},
    RecordedName{"gather", CommKind::kGather},
    RecordedName{"scatter", CommKind::kScatter},
    RecordedName{"all_to_all", CommKind::kAllToAll},
    RecordedName{"all_to_allv", CommKind::kAllToAllV},
    RecordedName{"send", CommKind::kSend},
    RecordedName{"recv", CommKind::kRecv},
    RecordedName{"recvAnySource", CommKind::kRecv},
    RecordedName{"barrier", CommKind::kBarrier},
    RecordedName{"wait", CommKind::kWait},
    RecordedName{"init", CommKind::kInit},
};

// docs/formats.md shows this table. Both namespaces, c10d:: and _c10d_functional::, are in it.
constexpr std::array kC10dNames = {
    C10dName{"allreduce", "allreduce", CommKind::kAllReduce, C10dLayout::kInPlace},
    C10dName{"allreduce_coalesced", "allreduce_coalesced", CommKind::kAllReduce,
             C10dLayout::kInPlace},
    C10dName{"broadcast", "broadcast", CommKind::kBroadcast, C10dLayout::kInPlace},
    C10dName{"reduce", "reduce", CommKind::kReduce, C10dLayout::kInPlace},
    C10dName{"allgather", "all_gather", CommKind::kAllGather, C10dLayout::kOutputInput},
    C10dName{"allgather_coalesced", "all_gather", CommKind::kAllGather, C10dLayout::kOutputInput},
    C10dName{"_allgather_base", "_allgather_base", CommKind::kAllGatherBase,
             C10dLayout::kOutputInput},
    C10dName{"allgather_into_tensor_coalesced", "allgather_into_tensor_coalesced",
             CommKind::kAllGatherBase, C10dLayout::kOutputInput},
    C10dName{"reduce_scatter", "reduce_scatter", CommKind::kReduceScatter,
             C10dLayout::kOutputInput},
    C10dName{"_reduce_scatter_base", "_reduce_scatter_base", CommKind::kReduceScatterBase,
             C10dLayout::kOutputInput},
    C10dName{"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor_coalesced",
             CommKind::kReduceScatterBase, C10dLayout::kOutputInput},
    C10dName{"gather", "gather", CommKind::kGather, C10dLayout::kOutputInput},
    C10dName{"scatter", "scatter", CommKind::kScatter, C10dLayout::kOutputInput},
    C10dName{"alltoall", "all_to_all", CommKind::kAllToAll, C10dLayout::kOutputInput},
    C10dName{"alltoall_base", "all_to_all", CommKind::kAllToAll, C10dLayout::kOutputInput},
    C10dName{"send", "send", CommKind::kSend, C10dLayout::kInPlace},
    C10dName{"recv", "recv", CommKind::kRecv, C10dLayout::kInPlace},
    C10dName{"recv_any_source", "recv", CommKind::kRecv, C10dLayout::kInPlace},
    C10dName{"barrier", "barrier", CommKind::kBarrier, C10dLayout::kNoTensors},
    C10dName{"monitored_barrier", "barrier", CommKind::kBarrier, C10dLayout::kNoTensors},
    C10dName{"all_reduce", "allreduce", CommKind::kAllReduce, C10dLayout::kInputOnly},
    C10dName{"all_reduce_coalesced", "allreduce_coalesced", CommKind::kAllReduce,
             C10dLayout::kInputOnly},
    C10dName{"all_gather_into_tensor", "_allgather_base", CommKind::kAllGatherBase,
             C10dLayout::kInputOnly},
    C10dName{"all_gather_into_tensor_out", "_allgather_base", CommKind::kAllGatherBase,
             C10dLayout::kInputOnly},
    C10dName{"all_gather_into_tensor_coalesced", "allgather_into_tensor_coalesced",
             CommKind::kAllGatherBase, C10dLayout::kInputOnly},
    C10dName{"reduce_scatter_tensor", "_reduce_scatter_base", CommKind::kReduceScatterBase,
             C10dLayout::kInputOnly},
    C10dName{"reduce_scatter_tensor_out", "_reduce_scatter_base", CommKind::kReduceScatterBase,
             C10dLayout::kInputOnly},
    C10dName{"all_to_all_single", "all_to_all", CommKind::kAllToAll, C10dLayout::kInputOnly},
    C10dName{"wait_tensor", "wait", CommKind::kWait, C10dLayout::kWaited},
};

}  // namespace

const C10dName* find_c10d_name(std::string_view node_name) {
  const std::size_t colons = node_name.rfind("::");
  std::string_view name =
      colons == std::string_view::npos ? node_name : node_name.substr(colons + 2);
  if (name.ends_with('_')) {
    name.remove_suffix(1);
  }
  for (const C10dName& entry : kC10dNames) {
    if (entry.c10d == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::optional<CommKind> kind_of_recorded_name(std::string_view name) {
  for (const RecordedName& entry : kRecordedNames) {
    if (entry.name == name) {
      return entry.kind;
    }
  }
  return std::nullopt;
}

std::string_view to_string(CommKind kind) {
  for (const RecordedName& entry : kRecordedNames) {
    if (entry.kind == kind) {
      return entry.name;
    }
  }
  invariant_failed("a kind without a name", __FILE__, __LINE__);
}

}  // namespace understudy::et_schema
