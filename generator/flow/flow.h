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

/// The node ids of one step: begin <= id < end.
struct IdRange {
  std::uint64_t begin = 0;
  std::uint64_t end = ~std::uint64_t{0};
  [[nodiscard]] bool contains(std::uint64_t id) const { return begin <= id && id < end; }
};

/// One lifetime of a storage. Storage ids are addresses, which are reused after a free.
struct Lifetime {
  /// An earlier lifetime used this address, and no operator shows where it ended.
  bool at_reused_address = false;
  et_schema::NodeIndex birth =
      et_schema::kNoNode;  ///< innermost operator that made it; kNoNode: outside of the step
  /// A compiled graph allocated it without an operator; `birth` fills it.
  bool allocated_by_graph = false;
};

/// The storage lifetimes that each operator reads and writes (docs/design.md, "Identity").
///
/// Operators are the nodes that can be replayed: nodes with a schema that access memory
/// (wrappers.h), communication, kernels of compiled graphs. An operator's tensors are in the order
/// of its recorded values, lists flattened, undefined ones omitted. A communication lists its
/// inputs, then its outputs. Both count as read, since their memory exists before the call.
struct Flow {
  std::vector<bool> is_operator;       ///< by node
  std::vector<bool> is_communication;  ///< by node; implies is_operator
  std::vector<bool> hands_storage;  ///< by node, within the step: assigns an existing storage to a
                                    ///< tensor; not an operator
  /// By node, within the step: works on wrappers (wrappers.h); not an operator.
  std::vector<bool> is_wrapped;
  /// By node; empty unless it is an operator.
  std::vector<std::vector<const et_schema::Tensor*>> inputs;
  std::vector<std::vector<const et_schema::Tensor*>> outputs;
  std::vector<std::vector<LifetimeId>>
      reads;  ///< parallel to inputs; kNoLifetime for a Python scalar
  std::vector<std::vector<LifetimeId>> writes;  ///< parallel to outputs
  std::vector<Lifetime> lifetimes;
};

/// Computes the flow of a step. Linear in the trace, apart from the depth of its tree.
[[nodiscard]] Flow analyze_flow(const et_schema::Trace& trace, const CommCalls& calls,
                                IdRange step);

/// Returns true if the input is a Python scalar that PyTorch wrapped in a tensor. Such an input is
/// zero-dimensional, on the CPU, of dtype double, long or complex double, beside other tensors, and
/// the first result has another dtype.
[[nodiscard]] bool is_wrapped_number(const et_schema::Node& node, const et_schema::Tensor& input);

/// Returns true for operators that allocate, clear or view memory and compute nothing. A node whose
/// kernel has no name of its own has only such operators below it.
[[nodiscard]] bool only_prepares_memory(std::string_view name);

}  // namespace understudy::generator
