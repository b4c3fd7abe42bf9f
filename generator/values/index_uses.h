#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"

namespace understudy::generator {

/// How the values of one tensor among a node's inputs repeat.
struct CapturedReuse {
  std::size_t tensor = 0;                   ///< flat index: every tensor among the inputs counts
  const et_schema::Reuse* reuse = nullptr;  ///< belongs to the trace
};

/// The share of zeros of one tensor among a node's inputs.
struct CapturedZeros {
  std::size_t tensor = 0;  ///< flat index, likewise
  double share = 0;
};

/// The elements of one sparse tensor among a node's inputs.
struct CapturedSparse {
  std::size_t tensor = 0;                        ///< flat index, likewise
  const et_schema::SparseUse* sparse = nullptr;  ///< belongs to the trace
};

struct CapturedReuses {
  std::unordered_map<std::uint64_t, std::vector<CapturedReuse>> by_node;          ///< by node id
  std::unordered_map<std::uint64_t, std::vector<CapturedZeros>> zeros_by_node;    ///< likewise
  std::unordered_map<std::uint64_t, std::vector<CapturedSparse>> sparse_by_node;  ///< likewise
  std::uint64_t unjoined = 0;  ///< uses without a call in the step, or left out by the recorder
};

/// Joins what was recorded of values (Trace::index_uses) with the nodes of a step.
///
/// The recorder watched another step. It saw an operator's calls where no other operator that it
/// saw had made them; calls of one operator are joined in order where they are as many in both
/// steps, else in order among those with index tensors of the same sizes. Operators above the call
/// that were given the same tensor have its values as well. Zeros that find no call are not
/// counted: they only make a replay's times more like the original's.
[[nodiscard]] CapturedReuses join_index_uses(const et_schema::Trace& trace, const Flow& flow);

}  // namespace understudy::generator
