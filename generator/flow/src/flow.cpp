#include "generator/flow/flow.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "et_schema/base/assert.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/op_class.h"
#include "generator/flow/captured_ranges.h"
#include "generator/flow/model_names.h"
#include "life.h"
#include "numbers.h"
#include "wrappers.h"

namespace understudy::generator {
namespace {

using et_schema::NodeClass;

/// Returns the storage ids of zeros without memory (aten::_efficientzerotensor), which autograd
/// uses as derivatives.
std::unordered_set<std::int64_t> storages_of_zeros(const Trace& trace) {
  std::unordered_set<std::int64_t> storages;
  for (const Node& node : trace.nodes) {
    if (node.name == "aten::_efficientzerotensor") {
      et_schema::for_each_tensor(node.outputs, [&storages](const Tensor& tensor) {
        if (tensor.has_storage() && tensor.numel > 0) {
          storages.insert(tensor.storage_id);
        }
      });
    }
  }
  return storages;
}

/// Returns true if the operator assigns a storage to a tensor. The trace records only the storage's
/// tag, so a replay cannot pass it. The result of set_ is memory that existed before.
bool hands_a_storage(const Node& node) {
  return node.name == "aten::set_" &&
         std::ranges::any_of(node.inputs, [](const et_schema::Value& value) {
           return value.is(et_schema::ValueKind::kOpaque) && value.text() == "Storage";
         });
}

class FlowBuilder {
 public:
  FlowBuilder(const Trace& trace, const CommCalls& calls, IdRange step)
      : trace_(trace), calls_(calls), of_zeros_(storages_of_zeros(trace)) {
    const std::size_t count = trace.nodes.size();
    flow_.is_operator.resize(count);
    flow_.is_communication.resize(count);
    flow_.hands_storage.resize(count);
    flow_.is_wrapped = find_wrapped(trace);
    flow_.inputs.resize(count);
    flow_.outputs.resize(count);
    flow_.reads.resize(count);
    flow_.writes.resize(count);
    in_graph_.resize(count);
    for (NodeIndex node = 0; node < count; ++node) {
      const NodeIndex parent = trace.nodes[node].parent;
      in_graph_[node] =
          is_graph_call(trace.nodes[node].name) || (parent != kNoNode && in_graph_[parent]);
      const bool in_step = step.contains(trace.nodes[node].id);
      flow_.is_wrapped[node] = flow_.is_wrapped[node] && in_step;
      flow_.hands_storage[node] =
          in_step && hands_a_storage(trace.nodes[node]) && !is_below_operator(node);
      flow_.is_operator[node] =
          in_step && !flow_.is_wrapped[node] && !flow_.hands_storage[node] && is_replayable(node);
      flow_.is_communication[node] = flow_.is_operator[node] && calls.contains(node);
      if (flow_.is_operator[node]) {
        collect_tensors(node);
      }
    }
  }

  /// Visits nodes: enters them in order of id, and leaves them after their last descendant.
  Flow build() {
    std::vector<std::vector<NodeIndex>> leaving(trace_.nodes.size());
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      leaving[trace_.nodes[node].last_descendant].push_back(node);
    }
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      if (flow_.is_operator[node]) {
        enter(node);
      } else if (flow_.hands_storage[node]) {
        begin_handed(node);
      }
      for (auto left = leaving[node].rbegin(); left != leaving[node].rend(); ++left) {
        if (flow_.is_operator[*left]) {
          leave(*left);
        }
      }
    }
    return std::move(flow_);
  }

 private:
  /// Returns true if a tensor has memory. Tensors on the device "meta" and zeros that are not
  /// materialised have storages without memory, all with the same id.
  [[nodiscard]] bool has_memory(const Tensor& tensor) const {
    return tensor.has_storage() && tensor.device.type != et_schema::DeviceType::kMeta &&
           !of_zeros_.contains(tensor.storage_id);
  }

  /// Returns a key for a tensor's memory, as far as ids identify it. Tensors without memory share
  /// one storage id, so their key is the tensor id. The low bit distinguishes the two kinds of id.
  [[nodiscard]] std::uint64_t memory_key(const Tensor& tensor) const {
    return has_memory(tensor) ? static_cast<std::uint64_t>(tensor.storage_id) << 1U
                              : (static_cast<std::uint64_t>(tensor.tensor_id) << 1U) | 1U;
  }

  /// Returns true if the node is below an operator. Nodes inside an operator (aten::_pin_memory)
  /// belong to it.
  [[nodiscard]] bool is_below_operator(NodeIndex node) const {
    while (node != kNoNode && trace_.nodes[node].parent != kNoNode) {
      node = trace_.nodes[node].parent;
      if (flow_.is_operator[node]) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_replayable(NodeIndex node) const {
    const auto call = calls_.find(node);
    if (call != calls_.end()) {
      return call->second.kind != CommKind::kInit;
    }
    const NodeClass kind = et_schema::classify(trace_.nodes[node]);
    return kind == NodeClass::kOperator || kind == NodeClass::kKernel;
  }

  void collect_tensors(NodeIndex node) {
    const auto add_defined = [](std::vector<const Tensor*>& list) {
      return [&list](const Tensor& tensor) {
        if (tensor.defined()) {
          list.push_back(&tensor);
        }
      };
    };
    const auto call = calls_.find(node);
    if (call != calls_.end()) {
      for (const std::vector<const Tensor*>* side : {&call->second.inputs, &call->second.outputs}) {
        for (const Tensor* tensor : *side) {
          add_defined(flow_.inputs[node])(*tensor);
        }
      }
      for (const Tensor* tensor : call->second.outputs) {
        add_defined(flow_.outputs[node])(*tensor);
      }
      return;
    }
    et_schema::for_each_tensor(trace_.nodes[node].inputs, add_defined(flow_.inputs[node]));
    et_schema::for_each_tensor(trace_.nodes[node].outputs, add_defined(flow_.outputs[node]));
  }

  LifetimeId begin_lifetime(const Tensor& tensor, NodeIndex birth) {
    const auto id = static_cast<LifetimeId>(flow_.lifetimes.size());
    flow_.lifetimes.push_back({.birth = birth});
    lives_.emplace_back();
    current_[memory_key(tensor)] = id;
    return id;
  }

  /// Begins a lifetime for a storage that no operator of the step made. The storage is from before
  /// the step, whatever was at its address.
  void begin_handed(NodeIndex node) {
    et_schema::for_each_tensor(trace_.nodes[node].outputs, [&](const Tensor& tensor) {
      const LifetimeId known = current(tensor);
      const bool internal = known != kNoLifetime && flow_.lifetimes[known].birth != kNoNode;
      const bool stale = internal && !left_its_operator(known, node);
      const bool is_new = known == kNoLifetime || cannot_be(known, tensor, internal, stale);
      if (tensor.defined() && is_new) {
        lives_[begin_lifetime(tensor, kNoNode)].add_layout(tensor);
      }
    });
  }

  [[nodiscard]] LifetimeId current(const Tensor& tensor) const {
    const auto found = current_.find(memory_key(tensor));
    return found == current_.end() ? kNoLifetime : found->second;
  }

  void enter(NodeIndex node) {
    const std::vector<const Tensor*>& inputs = flow_.inputs[node];
    std::vector<std::optional<std::int64_t>> numbers;
    // seen_numbers() follows the order of the node's recorded inputs. A communication's
    // tensors are listed in another order and are never scalar numbers: skip the lookup.
    if (!flow_.is_communication[node]) {
      numbers = seen_numbers(trace_.nodes[node]);
    }
    numbers.resize(inputs.size());
    const std::vector<bool> filled = in_graph_[node] && !flow_.is_communication[node]
                                         ? only_filled(trace_.nodes[node])
                                         : std::vector<bool>(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_new = filled[i] && is_allocation(*inputs[i]);
      const LifetimeId lifetime =
          is_new ? begin_allocated(*inputs[i], node) : read(node, *inputs[i], numbers[i]);
      if (lifetime != kNoLifetime && !filled[i]) {
        lives_[lifetime].was_read = true;
      }
      flow_.reads[node].push_back(lifetime);
    }
  }

  /// Returns true if memory that a compiled graph's operator fills was not seen before, or held
  /// something of the step that was read: the graph is assumed to have allocated it. A trace cannot
  /// distinguish this from memory that the program allocated before the step and each step fills
  /// again; the replay frees it after its last use.
  [[nodiscard]] bool is_allocation(const Tensor& tensor) const {
    const LifetimeId known = current(tensor);
    return has_memory(tensor) && tensor.storage_offset == 0 &&
           (known == kNoLifetime ||
            (flow_.lifetimes[known].birth != kNoNode && lives_[known].was_read));
  }

  LifetimeId begin_allocated(const Tensor& tensor, NodeIndex filler) {
    const LifetimeId id = begin_lifetime(tensor, filler);
    flow_.lifetimes[id].allocated_by_graph = true;
    lives_[id].add_layout(tensor);
    lives_[id].output_of.push_back(filler);
    return id;
  }

  /// Revokes an allocation by a compiled graph if a later tensor in it is larger: the memory first
  /// appeared as a part, so its begin and end are unknown.
  void forget_allocation(LifetimeId lifetime, const Tensor& tensor) {
    Lifetime& life = flow_.lifetimes[lifetime];
    if (life.allocated_by_graph && lives_[lifetime].same_kind(tensor) &&
        extent_bytes(tensor) > lives_[lifetime].bytes) {
      life.allocated_by_graph = false;
      life.birth = kNoNode;
    }
  }

  LifetimeId read(NodeIndex node, const Tensor& tensor, std::optional<std::int64_t> number) {
    const Node& reader = trace_.nodes[node];
    LifetimeId lifetime = current(tensor);
    if (lifetime != kNoLifetime) {
      forget_allocation(lifetime, tensor);
    }
    const bool internal = lifetime != kNoLifetime && flow_.lifetimes[lifetime].birth != kNoNode;
    const bool stale = internal && !left_its_operator(lifetime, node);
    const bool foreign =
        lifetime != kNoLifetime && (cannot_be(lifetime, tensor, internal, stale) ||
                                    lives_[lifetime].number.excludes(hash_layout(tensor), number) ||
                                    was_just_made(reader, tensor, lifetime));
    if (is_wrapped_number(reader, tensor) &&
        (!internal || stale || foreign || would_widen(reader, tensor))) {
      return kNoLifetime;
    }
    if (lifetime == kNoLifetime) {
      lifetime = begin_lifetime(tensor, kNoNode);
    } else if (foreign || (stale && is_scalar_operand(reader, tensor))) {
      lifetime = begin_lifetime(tensor, kNoNode);
      flow_.lifetimes[lifetime].at_reused_address = true;
    }
    if (flow_.lifetimes[lifetime].birth == kNoNode) {
      lives_[lifetime].add_layout(tensor);
    }
    lives_[lifetime].number.see(hash_layout(tensor), number);
    return lifetime;
  }

  /// Returns true if a layout that was never seen in a lifetime belongs to another tensor at a
  /// reused address. The extent of an external is unknown. A tensor without storage has only its
  /// id, which is reused as well.
  [[nodiscard]] bool cannot_be(LifetimeId lifetime, const Tensor& tensor, bool internal,
                               bool stale) const {
    const Life& life = lives_[lifetime];
    if (life.has_layout(tensor)) {
      return false;
    }
    return !has_memory(tensor) || stale || !life.same_kind(tensor) ||
           (internal && extent_bytes(tensor) > life.bytes);
  }

  /// Returns true if the tensor is a Python scalar, or torch.tensor's copy of one, although an
  /// operator made memory at its address. This is assumed if only other layouts of that memory were
  /// seen: a view would show as an operator, and the memory of small tensors is reused at once.
  [[nodiscard]] bool was_just_made(const Node& reader, const Tensor& tensor,
                                   LifetimeId lifetime) const {
    return tensor.storage_offset == 0 && flow_.lifetimes[lifetime].birth != kNoNode &&
           !lives_[lifetime].has_layout(tensor) &&
           (is_wrapped_number(reader, tensor) || is_scalar_operand(reader, tensor) ||
            reader.name == "aten::lift_fresh");
  }

  /// Returns true if the operator that made the lifetime has it among its outputs. That operator is
  /// the outermost one that contains the birth and ended before `reader` began.
  [[nodiscard]] bool left_its_operator(LifetimeId lifetime, NodeIndex reader) const {
    const NodeIndex birth = flow_.lifetimes[lifetime].birth;
    NodeIndex outermost = birth;
    for (NodeIndex node = trace_.nodes[birth].parent; node != kNoNode;
         node = trace_.nodes[node].parent) {
      if (flow_.is_operator[node] && trace_.nodes[node].last_descendant < reader) {
        outermost = node;
      }
    }
    return std::ranges::find(lives_[lifetime].output_of, outermost) !=
           lives_[lifetime].output_of.end();
  }

  void leave(NodeIndex node) {
    if (trace_.nodes[node].op_schema.find('!') != std::string_view::npos ||
        flow_.is_communication[node]) {
      for (const LifetimeId lifetime : flow_.reads[node]) {
        if (lifetime != kNoLifetime) {
          lives_[lifetime].number.forget();
        }
      }
    }
    for (const Tensor* tensor : flow_.outputs[node]) {
      LifetimeId lifetime = current(*tensor);
      if (!is_in_place(node, *tensor) && !began_within(lifetime, node) &&
          !shows_known_part(node, lifetime)) {
        lifetime = begin_lifetime(*tensor, node);
      }
      UNDERSTUDY_ASSERT(lifetime != kNoLifetime);
      lives_[lifetime].add_layout(*tensor);
      lives_[lifetime].number.forget();
      lives_[lifetime].output_of.push_back(node);
      flow_.writes[node].push_back(lifetime);
    }
  }

  [[nodiscard]] bool is_in_place(NodeIndex node, const Tensor& output) const {
    return current(output) != kNoLifetime &&
           std::ranges::any_of(flow_.inputs[node], [&](const Tensor* input) {
             return memory_key(*input) == memory_key(output);
           });
  }

  /// Returns true if the node returns the indices or values of a sparse tensor, which has no
  /// storage itself, in memory that is known outside of the ended operators. No new lifetime begins
  /// then.
  [[nodiscard]] bool shows_known_part(NodeIndex node, LifetimeId lifetime) const {
    const et_schema::SparsePart part = et_schema::operator_facts(trace_.nodes[node].name).part;
    if (lifetime == kNoLifetime ||
        (part != et_schema::SparsePart::kIndices && part != et_schema::SparsePart::kValues)) {
      return false;
    }
    return flow_.lifetimes[lifetime].birth == kNoNode || left_its_operator(lifetime, node);
  }

  [[nodiscard]] bool began_within(LifetimeId lifetime, NodeIndex ancestor) const {
    if (lifetime == kNoLifetime) {
      return false;
    }
    for (NodeIndex node = flow_.lifetimes[lifetime].birth; node != kNoNode;
         node = trace_.nodes[node].parent) {
      if (node == ancestor) {
        return true;
      }
    }
    return false;
  }

  const Trace& trace_;
  const CommCalls& calls_;
  std::unordered_set<std::int64_t> of_zeros_;
  Flow flow_;
  std::vector<bool> in_graph_;  ///< by node: is a compiled graph, or below one
  std::vector<Life> lives_;     ///< parallel to flow_.lifetimes
  std::unordered_map<std::uint64_t, LifetimeId> current_;
};

}  // namespace

Flow analyze_flow(const Trace& trace, const CommCalls& calls, IdRange step) {
  return FlowBuilder(trace, calls, step).build();
}

bool only_prepares_memory(std::string_view name) {
  const et_schema::OperatorFacts& facts = et_schema::operator_facts(name);
  const bool clears = facts.fills && (name.find("zero") != std::string_view::npos ||
                                      name.find("fill") != std::string_view::npos);
  return facts.shows || clears || et_schema::allocates_memory(name) || name == "aten::resize_";
}

}  // namespace understudy::generator
