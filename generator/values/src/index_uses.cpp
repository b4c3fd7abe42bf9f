#include "generator/values/index_uses.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::IndexUse;
using et_schema::NodeClass;
using et_schema::RecordedTensor;
using et_schema::SparseUse;
using et_schema::ZeroUse;

std::vector<const Tensor*> flat_inputs(const Node& node) {
  std::vector<const Tensor*> tensors;
  et_schema::for_each_tensor(node.inputs,
                             [&](const Tensor& tensor) { tensors.push_back(&tensor); });
  return tensors;
}

/// Converts an index among defined tensors (as the recorder counts) to one among all tensors.
std::size_t flat_index(const std::vector<const Tensor*>& tensors, std::size_t defined) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->defined() && defined-- == 0) {
      return i;
    }
  }
  return tensors.size();
}

/// Returns the name under which the recorder sees an operator. While a recorder is on, autograd
/// calls the functional form instead of the in-place one, and index_put instead of its parts.
std::string recorded_form(std::string_view name) {
  if (name == "aten::_index_put_impl_") {
    return "aten::index_put";
  }
  return std::string(name.ends_with('_') ? name.substr(0, name.size() - 1) : name);
}

class Joiner {
 public:
  Joiner(const Trace& trace, const Flow& flow) : trace_(trace) { find_calls(flow); }

  CapturedReuses join() {
    reuses_.unjoined = trace_.index_uses.left_out;
    for (const IndexUse& use : trace_.index_uses.uses) {
      const bool joined =
          attach(use.of, et_schema::is_integral, [&](const Node& node, std::size_t i) {
            reuses_.by_node[node.id].push_back({i, &use.reuse});
          });
      reuses_.unjoined += joined ? 0 : 1;
    }
    taken_.clear();
    for (const SparseUse& use : trace_.index_uses.sparse) {
      const bool joined = attach(
          use.of, [](et_schema::DType) { return true; },
          [&](const Node& node, std::size_t i) {
            reuses_.sparse_by_node[node.id].push_back({i, &use});
          });
      reuses_.unjoined += joined ? 0 : 1;
    }
    taken_.clear();
    for (const ZeroUse& use : trace_.index_uses.zeros) {
      attach(use.of, et_schema::is_floating, [&](const Node& node, std::size_t i) {
        reuses_.zeros_by_node[node.id].push_back({i, use.share});
      });
    }
    return std::move(reuses_);
  }

 private:
  /// Collects the calls that the recorder would have seen, by operator, in order.
  void find_calls(const Flow& flow) {
    const auto& seen = trace_.index_uses.calls;
    std::vector<bool> below_seen(trace_.nodes.size());
    for (NodeIndex index = 0; index < trace_.nodes.size(); ++index) {
      const Node& node = trace_.nodes[index];
      const std::string name =
          seen.contains(std::string(node.name)) ? std::string(node.name) : recorded_form(node.name);
      const bool is_seen = flow.is_operator[index] && seen.contains(name);
      const bool below = node.parent != et_schema::kNoNode && below_seen[node.parent];
      below_seen[index] = below || is_seen;
      if (is_seen && !below) {
        calls_[name].push_back(index);
      }
    }
  }

  NodeIndex find_call(const RecordedTensor& use) {
    const auto calls = calls_.find(use.op);
    if (calls == calls_.end()) {
      return et_schema::kNoNode;
    }
    const auto counted = trace_.index_uses.calls.find(use.op);
    if (counted != trace_.index_uses.calls.end() && counted->second == calls->second.size()) {
      return use.call < calls->second.size() ? calls->second[use.call] : et_schema::kNoNode;
    }
    for (const NodeIndex node : calls->second) {
      if (has_sizes(trace_.nodes[node], use) && taken_.emplace(node, use.tensor).second) {
        return node;
      }
    }
    return et_schema::kNoNode;
  }

  [[nodiscard]] static bool has_sizes(const Node& node, const RecordedTensor& use) {
    const std::vector<const Tensor*> tensors = flat_inputs(node);
    const std::size_t index = flat_index(tensors, use.tensor);
    return index < tensors.size() && std::ranges::equal(tensors[index]->sizes, use.sizes);
  }

  /// Calls set(node, flat index) for the tensor's call and the operators above it. Returns false if
  /// there is no such call, or if the call has no such tensor. Sizes may differ from step to step,
  /// but not the kind of dtype and the rank.
  template <typename Set>
  bool attach(const RecordedTensor& use, bool (*is_kind)(et_schema::DType), Set&& set) {
    const NodeIndex call = find_call(use);
    if (call == et_schema::kNoNode) {
      return false;
    }
    const std::vector<const Tensor*> tensors = flat_inputs(trace_.nodes[call]);
    const std::size_t index = flat_index(tensors, use.tensor);
    if (index >= tensors.size() || !is_kind(tensors[index]->dtype) ||
        tensors[index]->sizes.size() != use.sizes.size()) {
      return false;
    }
    set(trace_.nodes[call], index);
    for (NodeIndex above = trace_.nodes[call].parent; above != et_schema::kNoNode;
         above = trace_.nodes[above].parent) {
      attach_above(trace_.nodes[above], *tensors[index], set);
    }
    return true;
  }

  template <typename Set>
  void attach_above(const Node& node, const Tensor& tensor, Set&& set) {
    if (et_schema::classify(node) != NodeClass::kOperator) {
      return;
    }
    const std::vector<const Tensor*> tensors = flat_inputs(node);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const bool is_same = tensor.has_storage() ? tensors[i]->has_storage() &&
                                                      tensors[i]->storage_id == tensor.storage_id
                                                : tensors[i]->tensor_id == tensor.tensor_id;
      if (is_same && tensors[i]->storage_offset == tensor.storage_offset &&
          tensors[i]->numel == tensor.numel && tensors[i]->dtype == tensor.dtype) {
        set(node, i);
      }
    }
  }

  const Trace& trace_;
  std::map<std::string, std::vector<NodeIndex>> calls_;
  std::set<std::pair<NodeIndex, std::size_t>> taken_;
  CapturedReuses reuses_;
};

}  // namespace

CapturedReuses join_index_uses(const Trace& trace, const Flow& flow) {
  const et_schema::IndexUses& uses = trace.index_uses;
  const bool is_empty = uses.uses.empty() && uses.zeros.empty() && uses.sparse.empty();
  return is_empty ? CapturedReuses{} : Joiner(trace, flow).join();
}

}  // namespace understudy::generator
