#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns, by node, the node of the forward pass to which a label of the backward pass
/// ("MmBackward0") belongs; kNoNode for all other nodes.
///
/// Autograd numbers its nodes per thread in the order of creation, and an operator is recorded with
/// the next number. So the forward of a label with number n is the last operator recorded with
/// number n on the label's forward thread before the label. An operator that calls others on
/// tensors that autograd tracks (aten::linear) is recorded with the first of these operators'
/// numbers. O(n log n) in the nodes.
[[nodiscard]] std::vector<et_schema::NodeIndex> find_forwards(const et_schema::Trace& trace);

/// Prefix of the label that autograd's engine puts around a node of the backward pass.
inline constexpr std::string_view kEvaluationLabel = "autograd::engine::evaluate_function: ";

/// Returns the engine's label around a label of the backward pass; if there is none, `backward`.
/// The engine's label also covers the summation of gradients.
[[nodiscard]] et_schema::NodeIndex evaluation_of(const et_schema::Trace& trace,
                                                 et_schema::NodeIndex backward);

/// Label of a node that adds a gradient to a parameter's gradient.
inline constexpr std::string_view kKeepsGradient = "torch::autograd::AccumulateGrad";

/// Returns, by node, the last writer of the gradient that such a label adds; kNoNode for others.
[[nodiscard]] std::vector<et_schema::NodeIndex> find_gradient_producers(
    const et_schema::Trace& trace);

/// Label of PyTorch's fallback around a call that a Python tensor subclass (DTensor, nested tensor)
/// handles. The label's own time is Python code between the operators below it.
inline constexpr std::string_view kSubclassLabel = "PythonSubclass";

/// The same for an active mode (TorchDispatchMode), which handles all calls.
inline constexpr std::string_view kModeLabel = "PythonDispatchMode";

}  // namespace understudy::generator
