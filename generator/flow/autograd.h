#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// By node: for a label of the backward pass ("MmBackward0") the node of the forward pass that it
/// belongs to; kNoNode for all other nodes. On each thread, autograd numbers its nodes in the order
/// in which they are made, and an operator is recorded with the number that comes next. So the last
/// operator of number n on the label's forward thread, before the label, made node n. An operator
/// that calls others on tensors that autograd follows (aten::linear) is recorded with the first of
/// their numbers. The time is n log n in the nodes.
[[nodiscard]] std::vector<et_schema::NodeIndex> find_forwards(const et_schema::Trace& trace);

/// The label that autograd's engine puts around a node of the backward pass, before its name.
inline constexpr std::string_view kEvaluationLabel = "autograd::engine::evaluate_function: ";

/// That label around a label of the backward pass, which also includes the sums of gradients; if
/// there is none, the label itself.
[[nodiscard]] et_schema::NodeIndex evaluation_of(const et_schema::Trace& trace,
                                                 et_schema::NodeIndex backward);

/// The label of a node that adds a gradient to a parameter's gradient.
inline constexpr std::string_view kKeepsGradient = "torch::autograd::AccumulateGrad";

/// By node: for such a label the node that last wrote the added one; kNoNode for all other nodes.
[[nodiscard]] std::vector<et_schema::NodeIndex> find_gradient_producers(
    const et_schema::Trace& trace);

/// What PyTorch's fallback writes where a class of Python's (a wrapper such as DTensor or a nested
/// tensor) takes a call on. Its own time is Python's, between the operators below it.
inline constexpr std::string_view kSubclassLabel = "PythonSubclass";

/// The same of a mode (TorchDispatchMode) that takes all calls on while it is entered.
inline constexpr std::string_view kModeLabel = "PythonDispatchMode";

}  // namespace understudy::generator
