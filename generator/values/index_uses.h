#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"

namespace understudy::generator {

/// How often the values of one tensor among a node's inputs repeat.
struct CapturedReuse {
  std::size_t tensor = 0;                   ///< index among all tensors of the inputs
  const et_schema::Reuse* reuse = nullptr;  ///< owned by the trace
};

/// The share of zeros of one tensor among a node's inputs.
struct CapturedZeros {
  std::size_t tensor = 0;  ///< index among all tensors of the inputs
  double share = 0;
};

/// The elements of one sparse tensor among a node's inputs.
struct CapturedSparse {
  std::size_t tensor = 0;                        ///< index among all tensors of the inputs
  const et_schema::SparseUse* sparse = nullptr;  ///< owned by the trace
};

struct CapturedReuses {
  std::unordered_map<std::uint64_t, std::vector<CapturedReuse>> by_node;          ///< by node id
  std::unordered_map<std::uint64_t, std::vector<CapturedZeros>> zeros_by_node;    ///< by node id
  std::unordered_map<std::uint64_t, std::vector<CapturedSparse>> sparse_by_node;  ///< by node id
  std::uint64_t unjoined = 0;  ///< uses without a call in the step, or skipped by the recorder
};

/// Joins the recorded facts about values (Trace::index_uses) with the nodes of a step.
///
/// The recorder ran in another step than the trace. It records the calls of operators, except calls
/// that another recorded operator made. The calls of one operator are joined in order if both steps
/// have equally many, otherwise in order among calls with index tensors of the same sizes.
/// Operators above the call that received the same tensor get the same facts. Zeros without a
/// matching call do not count as a loss, since only the accuracy of replayed times needs them.
[[nodiscard]] CapturedReuses join_index_uses(const et_schema::Trace& trace, const Flow& flow);

}  // namespace understudy::generator
