#include "labels.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "below.h"

namespace understudy::generator {
namespace {

using et_schema::kNoNode;
using et_schema::Node;
using et_schema::NodeIndex;
using et_schema::Tensor;
using et_schema::Trace;

/// Of PyTorch too, though Python's: they put a gradient into a DTensor or take it out of one. What
/// they compute shows as operators.
constexpr std::array<std::string_view, 3> kOfDTensor = {
    "RedistributeBackward", "_FromTorchTensorBackward", "_ToTorchTensorBackward"};

/// torch::autograd::CppNode<F>, or a Python function's "NameBackward"; PyTorch's own are
/// "NameBackward0".
bool is_custom_backward(const Node& node) {
  return node.op_schema.empty() && std::ranges::find(kOfDTensor, node.name) == kOfDTensor.end() &&
         node.scope == et_schema::Scope::kBackwardFunction &&
         (node.name.starts_with("torch::autograd::CppNode<") || node.name.ends_with("Backward"));
}

bool takes_a_gradient(const Node& node) {
  bool takes = false;
  et_schema::for_each_tensor(node.inputs,
                             [&takes](const Tensor& tensor) { takes = takes || tensor.defined(); });
  return takes;
}

/// The forward of a custom function ran before its autograd node drew sequence number `seq`: the
/// last operator of another library than PyTorch's own that started before an operator with a later
/// number.
NodeIndex find_forward(const Trace& trace, const Selected& selected, const Node& label) {
  NodeIndex forward = kNoNode;
  for (NodeIndex index : selected.operators) {
    const Node& node = trace.nodes[index];
    if (node.id >= label.id || node.tid != (label.fw_tid == 0 ? node.tid : label.fw_tid)) {
      continue;
    }
    if (node.scope == et_schema::Scope::kFunction && node.seq_id > label.seq_id) {
      break;
    }
    if (!node.op_schema.empty() && !node.name.starts_with("aten::") &&
        !node.name.starts_with("c10d") && !node.outputs.empty()) {
      forward = index;
    }
  }
  return forward;
}

}  // namespace

std::vector<WorkingLabel> find_working_labels(const Trace& trace, const Flow& flow, IdRange step,
                                              const Selected& selected) {
  std::vector<WorkingLabel> labels;
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (!step.contains(node.id) || !is_custom_backward(node) || !takes_a_gradient(node)) {
      continue;
    }
    WorkingLabel label{index, index, kNoNode, {}};
    const bool is_shown = walk_below(trace, index, [&](NodeIndex below) {
      if (!flow.is_operator[below]) {
        return Walk::kInto;
      }
      label.after = std::max(label.after, below);
      label.allocated.insert(label.allocated.end(), flow.outputs[below].begin(),
                             flow.outputs[below].end());
      return only_prepares_memory(trace.nodes[below].name) ? Walk::kPast : Walk::kStop;
    });
    if (!is_shown) {
      label.forward = find_forward(trace, selected, node);
      labels.push_back(std::move(label));
    }
  }
  return labels;
}

}  // namespace understudy::generator
