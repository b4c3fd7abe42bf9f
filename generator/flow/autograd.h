#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns by node: for a label of the backward pass ("MmBackward0") the node of the forward pass
/// that it belongs to; kNoNode for all other nodes.
///
/// Autograd numbers its nodes per thread in the order of creation, and an operator is recorded with
/// the next number. So node n was made by the last operator of number n on the label's forward
/// thread, before the label. An operator that calls others on tensors that autograd tracks
/// (aten::linear) is recorded with the first of their numbers. O(n log n) in the nodes.
[[nodiscard]] std::vector<et_schema::NodeIndex> find_forwards(const et_schema::Trace& trace);

/// Prefix of the label that autograd's engine puts around a node of the backward pass.
inline constexpr std::string_view kEvaluationLabel = "autograd::engine::evaluate_function: ";

/// Returns that label around a label of the backward pass, which also covers the summation of
/// gradients. If there is none, returns `backward`.
[[nodiscard]] et_schema::NodeIndex evaluation_of(const et_schema::Trace& trace,
                                                 et_schema::NodeIndex backward);

/// The label of a node that adds a gradient to a parameter's gradient.
inline constexpr std::string_view kKeepsGradient = "torch::autograd::AccumulateGrad";

/// Returns by node: for such a label the last writer of the added gradient; else kNoNode.
[[nodiscard]] std::vector<et_schema::NodeIndex> find_gradient_producers(
    const et_schema::Trace& trace);

/// Label of PyTorch's fallback around a call that a Python tensor subclass (DTensor, nested tensor)
/// handles. Its own time is Python code between the operators below it.
inline constexpr std::string_view kSubclassLabel = "PythonSubclass";

/// The same for an active mode (TorchDispatchMode), which handles all calls.
inline constexpr std::string_view kModeLabel = "PythonDispatchMode";

}  // namespace understudy::generator
