#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "et_schema/base/words.h"
#include "generator/flow/below.h"
#include "generator/flow/captured_ranges.h"
#include "generator/flow/model_names.h"
#include "generator/selection/selection.h"

namespace understudy::generator {
namespace {

/// PyTorch's own Python functions (those of DTensor, FSDP, DDP, checkpoints and collectives).
/// Operators below their backward do all of its work.
constexpr std::string_view kOfPyTorch =
    "Redistribute NestedRedistribute _FromTorchTensor _ToTorchTensor RegisterPreBackwardFunction "
    "RegisterPostBackwardFunction CheckpointFunction BackwardHookFunction ReduceAddCoalesced "
    "_DDPSink _AllGather _AllGatherBase _AllReduce _AlltoAll _AlltoAllSingle _Broadcast _Gather "
    "_Reduce _Reduce_Scatter _Scatter";

bool is_of_pytorch(std::string_view label) {
  constexpr std::string_view kBackward = "Backward";
  label.remove_suffix(label.ends_with(kBackward) ? kBackward.size() : 0);
  return et_schema::has_word(kOfPyTorch, label);
}

/// Returns true for torch::autograd::CppNode<F> and Python functions' "NameBackward"; PyTorch's own
/// labels are "NameBackward0".
bool is_custom_backward(const Node& node) {
  return node.op_schema.empty() && !is_of_pytorch(node.name) &&
         node.scope == et_schema::Scope::kBackwardFunction &&
         (node.name.starts_with("torch::autograd::CppNode<") || node.name.ends_with("Backward"));
}

/// Returns true for a compiled graph's forward; its backward is a Python function's.
bool is_compiled_forward(const Node& node) {
  return node.op_schema.empty() && node.name == "CompiledFunction";
}

bool takes_a_tensor(const Node& node) {
  bool takes = false;
  et_schema::for_each_tensor(node.inputs,
                             [&takes](const Tensor& tensor) { takes = takes || tensor.defined(); });
  return takes;
}

/// An operator of a library other than PyTorch, and the largest sequence number of the thread's
/// operators up to it.
struct Forward {
  NodeIndex index = kNoNode;
  std::int64_t sequence = 0;
};
/// In order of issue, by thread; 0: of all threads.
using Forwards = std::map<std::uint64_t, std::vector<Forward>>;

Forwards forwards_of(const Trace& trace, const Selected& selected) {
  Forwards forwards;
  std::map<std::uint64_t, std::int64_t> largest;
  for (const NodeIndex index : selected.operators) {
    const Node& node = trace.nodes[index];
    const bool may_be_forward = !node.op_schema.empty() && !node.name.starts_with("aten::") &&
                                !node.name.starts_with("c10d") && !node.outputs.empty();
    for (const std::uint64_t thread : {std::uint64_t{0}, node.tid}) {
      std::int64_t& sequence =
          largest.try_emplace(thread, std::numeric_limits<std::int64_t>::min()).first->second;
      if (node.scope == et_schema::Scope::kFunction) {
        sequence = std::max<std::int64_t>(sequence, node.seq_id);
      }
      if (may_be_forward) {
        forwards[thread].push_back({index, sequence});
      }
    }
  }
  return forwards;
}

/// Returns the forward of a custom function. The forward ran before its autograd node received the
/// label's sequence number. So it is the last operator of a library other than PyTorch that started
/// before an operator with a later number.
NodeIndex find_forward(const Trace& trace, const Forwards& forwards, const Node& label) {
  const auto thread = forwards.find(label.fw_tid);
  if (thread == forwards.end()) {
    return kNoNode;
  }
  const auto next = std::ranges::partition_point(thread->second, [&](const Forward& forward) {
    return forward.sequence <= label.seq_id && trace.nodes[forward.index].id < label.id;
  });
  return next == thread->second.begin() ? kNoNode : std::prev(next)->index;
}

/// Longest own time of a backward that does no work. A Python function's backward that does nothing
/// takes tens of µs; one that changes its gradient in place, without operators, takes longer.
constexpr std::int64_t kMostIdleNs = 100'000;

bool has_memory_of(const Tensor& tensor, const Tensor& other) {
  return tensor.defined() && tensor.has_storage() && tensor.storage_id == other.storage_id;
}

bool has_layout_of(const Tensor& tensor, const Tensor& other) {
  return tensor.dtype == other.dtype && tensor.storage_offset == other.storage_offset &&
         std::ranges::equal(tensor.sizes, other.sizes) &&
         std::ranges::equal(tensor.strides, other.strides);
}

/// Returns the first tensor among the values in the memory of `wanted`; null if there is none.
template <typename Values>
const Tensor* find_memory(const Values& values, const Tensor& wanted) {
  const Tensor* found = nullptr;
  et_schema::for_each_tensor(values, [&](const Tensor& tensor) {
    found = found == nullptr && has_memory_of(tensor, wanted) ? &tensor : found;
  });
  return found;
}

/// Returns true if a node after the label receives this very gradient before its memory begins
/// anew; until then others may read views of it. The gradient was alive while the label ran, so the
/// label's results are elsewhere.
bool is_taken_next(const Trace& trace, const Flow& flow, NodeIndex label, const Tensor& gradient) {
  for (NodeIndex index = trace.nodes[label].last_descendant + 1; index < trace.nodes.size();
       ++index) {
    const Node& node = trace.nodes[index];
    if (!flow.is_operator[index] && node.scope != et_schema::Scope::kBackwardFunction) {
      continue;
    }
    const Tensor* taken = find_memory(node.inputs, gradient);
    if (taken != nullptr && has_layout_of(*taken, gradient)) {
      return true;
    }
    if (taken == nullptr && find_memory(node.outputs, gradient) != nullptr) {
      return false;
    }
  }
  return false;
}

/// Returns the shortest own time of each custom backward. Longer calls may include Python hooks
/// (that fetch parameters) or preemption.
std::map<std::string_view, std::int64_t> shortest_own_times(const Trace& trace, const Link* link) {
  std::map<std::string_view, std::int64_t> shortest;
  for (NodeIndex index = 0; link != nullptr && index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (link->nodes[index] && is_custom_backward(node)) {
      const std::int64_t own_ns = link->nodes[index]->self_ns;
      const auto [found, is_first] = shortest.emplace(node.name, own_ns);
      found->second = std::min(found->second, own_ns);
    }
  }
  return shortest;
}

/// Returns true if a Python function's backward only passes its gradients on, as Megatron's f and
/// g: a later node receives each unchanged, and the function's shortest own time is at most
/// kMostIdleNs. Flow alone is no proof, since a gradient may go to several functions; without times
/// it is one if nothing is below the function.
bool only_hands_on(const Trace& trace, const Flow& flow, NodeIndex label, const Link* link,
                   const std::map<std::string_view, std::int64_t>& shortest_own_ns) {
  const Node& node = trace.nodes[label];
  const bool is_timed = link != nullptr && link->nodes[label];
  const bool did_work =
      is_timed ? link->nodes[label]->device_ns > 0 || shortest_own_ns.at(node.name) > kMostIdleNs
               : !node.children.empty();
  if (did_work || !node.name.ends_with("Backward")) {
    return false;
  }
  bool all = true;
  et_schema::for_each_tensor(node.inputs, [&](const Tensor& gradient) {
    all = all && (!gradient.defined() ||
                  (gradient.has_storage() && is_taken_next(trace, flow, label, gradient)));
  });
  return all;
}

bool is_kernel(const Node& node) {
  return et_schema::classify(node) == et_schema::NodeClass::kKernel;
}

bool has_below(const Trace& trace, NodeIndex root, const auto& wanted) {
  return walk_below(trace, root,
                    [&](NodeIndex below) { return wanted(below) ? Walk::kStop : Walk::kInto; });
}

/// Returns true if a compiled graph has kernels that the trace does not show. If the trace shows
/// the kernels of other graphs, a graph with operators below it has none: its own time is Python.
bool hides_kernels(const Trace& trace, const Flow& flow, NodeIndex graph, bool kernels_are_shown,
                   const Link* link) {
  if (link != nullptr && link->nodes[graph] && link->nodes[graph]->self_ns == 0) {
    return false;
  }
  const auto is_shown = [&](NodeIndex below) {
    return is_kernel(trace.nodes[below]) || (kernels_are_shown && flow.is_operator[below] &&
                                             !only_prepares_memory(trace.nodes[below].name));
  };
  return !has_below(trace, graph, is_shown);
}

/// Returns a label with the tensors allocated below it; empty if a node below shows its work.
std::optional<WorkingLabel> find_unshown(const Trace& trace, const Flow& flow, NodeIndex index) {
  WorkingLabel label{index, index, kNoNode, {}};
  const bool is_shown = walk_below(trace, index, [&](NodeIndex below) {
    if (is_graph_call(trace.nodes[below].name)) {
      return Walk::kStop;  // examined separately
    }
    if (!flow.is_operator[below]) {
      return Walk::kInto;
    }
    label.after = std::max(label.after, below);
    label.allocated.insert(label.allocated.end(), flow.outputs[below].begin(),
                           flow.outputs[below].end());
    return only_prepares_memory(trace.nodes[below].name) ? Walk::kPast : Walk::kStop;
  });
  return is_shown ? std::nullopt : std::optional(std::move(label));
}

}  // namespace

LabelsFound find_labels(const Trace& trace, const Flow& flow, IdRange step,
                        const Selected& selected, const Link* link) {
  LabelsFound found;
  const bool kernels_are_shown = std::ranges::any_of(trace.nodes, is_kernel);
  const auto shortest_own_ns = shortest_own_times(trace, link);
  const Forwards forwards = forwards_of(trace, selected);
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (!step.contains(node.id)) {
      continue;
    }
    if (is_graph_call(node.name)) {
      if (hides_kernels(trace, flow, index, kernels_are_shown, link)) {
        found.working.push_back({index, node.last_descendant, kNoNode, {}});
      }
      continue;
    }
    if (!(is_custom_backward(node) || is_compiled_forward(node)) || !takes_a_tensor(node)) {
      continue;
    }
    std::optional<WorkingLabel> label = find_unshown(trace, flow, index);
    if (!label) {
      continue;
    }
    if (only_hands_on(trace, flow, index, link, shortest_own_ns)) {
      ++found.handed_on;
      continue;
    }
    label->forward = find_forward(trace, forwards, node);
    found.working.push_back(*std::move(label));
  }
  return found;
}

}  // namespace understudy::generator
