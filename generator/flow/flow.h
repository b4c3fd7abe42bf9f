#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

using LifetimeId = std::uint32_t;
inline constexpr LifetimeId kNoLifetime = 0xffffffffU;
using CommCalls = std::map<et_schema::NodeIndex, et_schema::CommCall>;

/// The span of ids of one step: nodes with begin <= id < end.
struct IdRange {
  std::uint64_t begin = 0;
  std::uint64_t end = ~std::uint64_t{0};
  [[nodiscard]] bool contains(std::uint64_t id) const { return begin <= id && id < end; }
};

/// One life of a storage. Its id is an address, which comes back after a free.
struct Lifetime {
  /// Another lifetime ended at this address, and no operator shows it.
  bool at_reused_address = false;
  et_schema::NodeIndex birth =
      et_schema::kNoNode;  ///< innermost operator that made it; kNoNode: outside of the step
  /// A compiled graph allocated it, and no operator shows the allocation; `birth` fills it.
  bool allocated_by_graph = false;
};

/// Which storage lifetimes each operator reads and writes (docs/design.md,
/// "Identity").
///
/// Operators are the nodes that can be replayed: those with a schema that touch memory
/// (wrappers.h), communication, kernels of compiled graphs. The tensors of an operator stand in the
/// order of its recorded values, lists flattened, undefined ones left out; for communication in the
/// order inputs, outputs, and both count as read, since their memory exists before the call.
struct Flow {
  std::vector<bool> is_operator;       ///< by node; true only of operators
  std::vector<bool> is_communication;  ///< by node, of operators
  std::vector<bool> hands_storage;     ///< by node, within the step: it puts a storage of the
                                       ///< program's own under a tensor, and is no operator here
  /// By node, within the step: it works on wrappers, so it is no operator here.
  std::vector<bool> is_wrapped;
  /// By node; empty unless it is an operator.
  std::vector<std::vector<const et_schema::Tensor*>> inputs;
  std::vector<std::vector<const et_schema::Tensor*>> outputs;
  std::vector<std::vector<LifetimeId>>
      reads;  ///< parallel to inputs; kNoLifetime for a Python scalar
  std::vector<std::vector<LifetimeId>> writes;  ///< parallel to outputs
  std::vector<Lifetime> lifetimes;
};

/// Computes the flow of a step. The time is linear in the trace, apart from the depth of its tree.
[[nodiscard]] Flow analyze_flow(const et_schema::Trace& trace, const CommCalls& calls,
                                IdRange step);

/// True if the input is a Python scalar made a tensor by the argument parser: zero-dimensional, on
/// the CPU, double, long or complex double, and of another dtype than the result of an operator
/// with several tensors.
[[nodiscard]] bool is_wrapped_number(const et_schema::Node& node, const et_schema::Tensor& input);

/// True of operators that allocate, clear or view memory and compute nothing. A kernel without a
/// name of its own shows only such operators below it.
[[nodiscard]] bool only_prepares_memory(std::string_view name);

}  // namespace understudy::generator
