#include "et_schema/model/trace.h"

#include <algorithm>
#include <limits>

#include "et_schema/base/assert.h"

namespace understudy::et_schema {

Value Value::of(bool value) {
  Value result;
  result.kind_ = ValueKind::kBool;
  result.integer_ = value ? 1 : 0;
  return result;
}

Value Value::of(std::int64_t value) {
  Value result;
  result.kind_ = ValueKind::kInt;
  result.integer_ = value;
  return result;
}

Value Value::of(double value) {
  Value result;
  result.kind_ = ValueKind::kDouble;
  result.real_ = value;
  return result;
}

Value Value::of(const Tensor* tensor) {
  UNDERSTUDY_ASSERT(tensor != nullptr);
  Value result;
  result.kind_ = ValueKind::kTensor;
  result.tensor_ = tensor;
  return result;
}

Value Value::of_text(ValueKind kind, std::string_view text) {
  UNDERSTUDY_ASSERT(kind == ValueKind::kString || kind == ValueKind::kDevice ||
                    kind == ValueKind::kOpaque);
  UNDERSTUDY_ASSERT(text.size() <= std::numeric_limits<std::uint32_t>::max());
  Value result;
  result.kind_ = kind;
  result.size_ = static_cast<std::uint32_t>(text.size());
  result.text_ = text.data();
  return result;
}

Value Value::of_items(ValueKind kind, std::span<const Value> items) {
  UNDERSTUDY_ASSERT(kind == ValueKind::kList || kind == ValueKind::kTuple);
  UNDERSTUDY_ASSERT(items.size() <= std::numeric_limits<std::uint32_t>::max());
  Value result;
  result.kind_ = kind;
  result.size_ = static_cast<std::uint32_t>(items.size());
  result.items_ = items.data();
  return result;
}

bool Value::as_bool() const {
  UNDERSTUDY_ASSERT(is(ValueKind::kBool));
  return integer_ != 0;
}

std::int64_t Value::as_int() const {
  UNDERSTUDY_ASSERT(is(ValueKind::kInt));
  return integer_;
}

double Value::as_double() const {
  UNDERSTUDY_ASSERT(is(ValueKind::kDouble));
  return real_;
}

std::string_view Value::text() const {
  UNDERSTUDY_ASSERT(is(ValueKind::kString) || is(ValueKind::kDevice) || is(ValueKind::kOpaque));
  return {text_, size_};
}

std::span<const Value> Value::items() const {
  UNDERSTUDY_ASSERT(is(ValueKind::kList) || is(ValueKind::kTuple));
  return {items_, size_};
}

const Tensor& Value::tensor() const {
  UNDERSTUDY_ASSERT(is(ValueKind::kTensor));
  return *tensor_;
}

NodeIndex Trace::find(std::uint64_t id) const {
  const auto found = std::ranges::lower_bound(nodes, id, {}, &Node::id);
  return found == nodes.end() || found->id != id ? kNoNode
                                                 : static_cast<NodeIndex>(found - nodes.begin());
}

NodeClass classify(const Node& node) {
  if (node.name == "record_param_comms") {
    return NodeClass::kCommunication;
  }
  if (!node.kernel_backend.empty()) {
    return NodeClass::kKernel;
  }
  if (node.op_schema.empty()) {
    return NodeClass::kLabel;
  }
  if (node.name == "_c10d_functional::_wrap_tensor_autograd") {
    return NodeClass::kOperator;  // the only one of its namespace that does not communicate
  }
  if (node.name.starts_with("c10d::") || node.name.starts_with("c10d_functional::") ||
      node.name.starts_with("_c10d_functional")) {
    return NodeClass::kC10d;
  }
  return NodeClass::kOperator;
}

}  // namespace understudy::et_schema
