#include "wrappers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "generator/flow/autograd.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

/// Returns true for tensors without a storage. Storages of zero bytes have an id other than 0.
bool is_without_storage(const Tensor& tensor) {
  return tensor.defined() && tensor.storage_id == 0;
}

/// Returns the id of the storage without memory that all wrappers of Python classes share; 0 if
/// there are none. Every call that such a class handles has a wrapper among its arguments. If all
/// calls share several storages, the one with the most tensors is the wrappers'.
std::int64_t find_null_storage(const et_schema::Trace& trace) {
  std::unordered_map<std::int64_t, std::unordered_set<std::int64_t>> tensors;  // by storage
  std::unordered_map<std::int64_t, std::size_t> calls;                         // by storage
  std::size_t labels = 0;
  for (const Node& node : trace.nodes) {
    if (node.name != kSubclassLabel) {
      continue;
    }
    ++labels;
    std::unordered_set<std::int64_t> storages;
    et_schema::for_each_tensor(node.inputs, [&](const Tensor& tensor) {
      if (tensor.has_storage()) {
        tensors[tensor.storage_id].insert(tensor.tensor_id);
        storages.insert(tensor.storage_id);
      }
    });
    for (const std::int64_t storage : storages) {
      ++calls[storage];
    }
  }
  std::int64_t found = 0;
  for (const auto& [storage, count] : calls) {
    const bool is_more = found == 0 || tensors[storage].size() > tensors[found].size();
    found = count == labels && is_more ? storage : found;
  }
  return found;
}

/// Returns true if the strides describe a layout. Sparse and opaque tensors have zeros instead;
/// those of opaque tensors begin with a one. Zero-dimensional tensors are dense.
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
  et_schema::for_each_tensor(values, [&](const Tensor& tensor) { any = any || predicate(tensor); });
  return any;
}

}  // namespace

std::vector<bool> find_wrapped(const et_schema::Trace& trace) {
  std::vector<bool> wrapped(trace.nodes.size());
  const std::int64_t null_storage = find_null_storage(trace);
  std::unordered_set<std::int64_t> known;  // ids of tensors that operators on wrappers returned
  const auto is_wrapper = [&](const Tensor& tensor) {
    // Tensors on the device "meta" have the same storage, but operators on them are real.
    if (tensor.device.type == et_schema::DeviceType::kMeta) {
      return false;
    }
    return tensor.has_storage() ? tensor.storage_id == null_storage
                                : is_without_storage(tensor) && has_layout(tensor);
  };
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (node.op_schema.empty()) {
      continue;
    }
    wrapped[index] = any_tensor(node.inputs,
                                [&](const Tensor& tensor) {
                                  return is_wrapper(tensor) || (is_without_storage(tensor) &&
                                                                known.contains(tensor.tensor_id));
                                }) ||
                     any_tensor(node.outputs, is_wrapper);
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
