#include "wrappers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace understudy::generator {
namespace {

using et_schema::Node;
using et_schema::NodeIndex;
using et_schema::Tensor;

/// Storages of no bytes have an id: 0 says that there is no storage.
bool is_without_storage(const Tensor& tensor) {
  return tensor.defined() && tensor.storage_id == 0;
}

/// Whether the strides are those of a layout, which sparse and opaque tensors do not have: theirs
/// are zeros, of opaque tensors behind a leading one. A number is dense.
bool has_layout(const Tensor& tensor) {
  if (!tensor.has_strides || tensor.sizes.empty() || tensor.strides.empty()) {
    return tensor.has_strides && tensor.sizes.empty();
  }
  const auto is_nonzero = [](std::int64_t stride) { return stride != 0; };
  return tensor.strides.front() > 1 || (tensor.strides.size() == 1 && tensor.strides[0] == 1) ||
         std::ranges::any_of(tensor.strides.subspan(1), is_nonzero);
}

template <typename Predicate>
bool any_tensor(std::span<const et_schema::Value> values, Predicate&& predicate) {
  bool any = false;
  et_schema::for_each_tensor(values, [&](const Tensor& tensor) {
    any = any || (is_without_storage(tensor) && predicate(tensor));
  });
  return any;
}

}  // namespace

std::vector<bool> find_wrapped(const et_schema::Trace& trace) {
  std::vector<bool> wrapped(trace.nodes.size());
  std::unordered_set<std::int64_t> known;  // ids of tensors that operators on wrappers gave
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (node.op_schema.empty()) {
      continue;
    }
    wrapped[index] = any_tensor(node.inputs,
                                [&](const Tensor& tensor) {
                                  return has_layout(tensor) || known.contains(tensor.tensor_id);
                                }) ||
                     any_tensor(node.outputs, has_layout);
    et_schema::for_each_tensor(node.outputs, [&](const Tensor& tensor) {
      if (wrapped[index] && is_without_storage(tensor)) {
        known.insert(tensor.tensor_id);
      } else {
        known.erase(tensor.tensor_id);
      }
    });
  }
  return wrapped;
}

}  // namespace understudy::generator
