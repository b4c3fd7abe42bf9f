#include "c10d_calls.h"

#include <algorithm>

#include "et_schema/base/control_characters.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {
namespace {

void add_tensors(std::vector<const Tensor*>& tensors, std::span<const Value> values) {
  for_each_tensor(values, [&tensors](const Tensor& tensor) { tensors.push_back(&tensor); });
}

bool is_integer_list(const Value& value) {
  return value.is(ValueKind::kList) && std::ranges::all_of(value.items(), [](const Value& item) {
           return item.is(ValueKind::kInt);
         });
}

/// Returns the first input of this kind; null if none exists.
const Value* first_of(const Node& node, ValueKind kind) {
  const auto found = std::ranges::find(node.inputs, kind, &Value::kind);
  return found == node.inputs.end() ? nullptr : &*found;
}

void read_tensors(CommCall& call, const Node& node, C10dLayout layout) {
  const std::span<const Value> inputs = node.inputs;
  switch (layout) {
    case C10dLayout::kInPlace:
      if (!inputs.empty()) {
        add_tensors(call.inputs, inputs.first(1));
        call.outputs = call.inputs;
      }
      break;
    case C10dLayout::kOutputInput:
      if (inputs.size() >= 2) {
        add_tensors(call.outputs, inputs.first(1));
        add_tensors(call.inputs, inputs.subspan(1, 1));
      }
      break;
    case C10dLayout::kInputOnly:
      if (!inputs.empty()) {
        add_tensors(call.inputs, inputs.first(1));
      }
      add_tensors(call.outputs, node.outputs);
      break;
    case C10dLayout::kWaited:
      add_tensors(call.inputs, inputs.first(std::min<std::size_t>(inputs.size(), 1)));
      break;
    case C10dLayout::kNoTensors:
      break;
  }
}

std::string_view first_text(const Node& node) {
  const Value* const text = first_of(node, ValueKind::kString);
  return text == nullptr ? std::string_view() : text->text();
}

/// Returns the reduce operator that the functional operator or a capture's label names.
std::string recorded_reduce_op(const Trace& trace, const Node& node) {
  // As capture/understudy/comms.py writes it.
  constexpr std::string_view kLabel = "understudy:reduce_op=";
  // The child label of capture_backend.cpp has the reduce operator after the tensors.
  for (const NodeIndex child : node.children) {
    const std::string_view text = first_text(trace.nodes[child]);
    if (trace.nodes[child].name.starts_with("nccl:") && !text.empty()) {
      return std::string(text);
    }
  }
  for (const Node* around = &node;; around = &trace.nodes[around->parent]) {
    const std::string_view schema = around->op_schema;
    const auto has = [&](const char* part) { return schema.find(part) != std::string_view::npos; };
    if (has("str reduce_op") || has("Any reduce_op") || has("str reduceOp")) {  // Any: torch 2.15
      return std::string(first_text(*around));  // followed by the group's name or a tag
    }
    if (around->name.starts_with(kLabel)) {
      return std::string(around->name.substr(kLabel.size()));
    }
    const NodeClass node_class = classify(*around);
    const bool is_call = node_class == NodeClass::kCommunication || node_class == NodeClass::kC10d;
    if (!is_call || around->parent == kNoNode) {
      return {};
    }
  }
}

/// Returns the reduce operator of sharded data parallel (torch 2.11, _get_gradient_divide_factors
/// and _reduce_grad). FSDP1 divides and then sums. FSDP2 averages, except for types that may
/// overflow, which it divides and sums like FSDP1.
std::string reduce_op_of_label(std::string_view label, const CommCall& call) {
  if (label.starts_with("FullyShardedDataParallel._post_backward_hook")) {
    return "sum";
  }
  if (!label.starts_with(kShardedDataParallelLabel) || call.inputs.empty()) {
    return {};
  }
  const DType dtype = call.inputs.front()->dtype;
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 ? "avg" : "sum";
}

}  // namespace

std::vector<std::int64_t> integers_of(const Value& list) {
  std::vector<std::int64_t> integers;
  if (!list.is(ValueKind::kList) && !list.is(ValueKind::kTuple)) {
    return integers;
  }
  for (const Value& item : list.items()) {
    if (item.is(ValueKind::kInt)) {
      integers.push_back(item.as_int());
    }
  }
  return integers;
}

bool read_splits(CommCall& call, const Node& node) {
  std::vector<const Value*> lists;
  for (const Value& value : node.inputs) {
    if (is_integer_list(value)) {
      lists.push_back(&value);
    }
  }
  constexpr std::size_t kBoth = 2;
  if (lists.size() != kBoth) {
    return false;
  }
  call.out_splits = integers_of(*lists[0]);
  call.in_splits = integers_of(*lists[1]);
  if (!call.out_splits.empty() || !call.in_splits.empty()) {
    call.kind = CommKind::kAllToAllV;
    call.name = to_string(call.kind);
  }
  return true;
}

std::optional<bool> recorded_async(const Node& c10d_node) {
  if (classify(c10d_node) != NodeClass::kC10d) {
    return std::nullopt;
  }
  const std::string_view schema = c10d_node.op_schema;
  if (schema.find("bool asyncOp") == std::string_view::npos &&
      schema.find("bool async_op") == std::string_view::npos) {
    return std::nullopt;
  }
  // No c10d operator has another argument of this type.
  const Value* const is_async = first_of(c10d_node, ValueKind::kBool);
  return is_async == nullptr ? std::nullopt : std::optional(is_async->as_bool());
}

void read_reduce_op(CommCall& call, const Trace& trace, const Node& node) {
  call.reduce_op = recorded_reduce_op(trace, node);
  for (NodeIndex index = node.parent; call.reduce_op.empty() && index != kNoNode;
       index = trace.nodes[index].parent) {
    call.reduce_op = reduce_op_of_label(trace.nodes[index].name, call);
    call.reduce_op_why = call.reduce_op.empty() ? std::string_view() : kShardedDataParallel;
  }
  if (!parse_reduction(call.reduce_op)) {
    call.reduce_op.clear();
    call.reduce_op_why.clear();
  }
}

std::string name_from_surroundings(const Trace& trace, const Node& node) {
  constexpr std::string_view kLabel = "nccl:";
  for (NodeIndex index = node.parent; index != kNoNode; index = trace.nodes[index].parent) {
    std::string_view name = trace.nodes[index].name;
    if (!name.starts_with(kLabel) && !name.starts_with("c10d::")) {
      continue;
    }
    if (name.starts_with(kLabel)) {
      name.remove_prefix(kLabel.size());
    }
    if (const auto known = find_c10d_name(name)) {
      return std::string(known->name->recorded);
    }
    if (kind_of_recorded_name(name)) {
      return std::string(name);
    }
  }
  return {};
}

void add_waited_tensor(CommCall& call, const Trace& trace, const Node& node) {
  for (NodeIndex index = node.parent; index != kNoNode; index = trace.nodes[index].parent) {
    const auto known = find_c10d_name(trace.nodes[index].name);
    if (known && known->traits->kind == CommKind::kWait) {
      read_tensors(call, trace.nodes[index], known->name->layout);
      return;
    }
  }
}

std::optional<CommCall> read_c10d_call(const Trace& trace, const Node& node) {
  const auto known = find_c10d_name(node.name);
  if (!known) {
    return std::nullopt;
  }
  CommCall call;
  call.kind = known->traits->kind;
  call.name = known->name->recorded;
  read_tensors(call, node, known->name->layout);
  if (call.kind == CommKind::kAllToAll) {
    static_cast<void>(read_splits(call, node));
  }
  if (known->traits->has_root || is_message(call.kind)) {
    const Value* const rank = first_of(node, ValueKind::kInt);
    call.root_or_peer = rank == nullptr ? 0 : rank->as_int();
  }
  // The last text of functional operators is the group's name. Other operators have the group as an
  // object, and those of the first functional namespace have a tag last.
  const bool has_tag = node.op_schema.find("str tag") != std::string_view::npos;
  for (const Value& value : node.inputs) {
    if (value.is(ValueKind::kString) && !has_tag) {
      call.pg_name = escape_control_characters(value.text());
    }
  }
  if (known->traits->reduces) {
    read_reduce_op(call, trace, node);
  }
  call.is_async = recorded_async(node);
  return call;
}

}  // namespace understudy::et_schema
