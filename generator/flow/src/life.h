#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/trace.h"
#include "numbers.h"

namespace understudy::generator {

/// Hashes a tensor's type, device, offset, sizes and strides.
[[nodiscard]] inline std::size_t hash_layout(const et_schema::Tensor& tensor) {
  std::size_t hash = static_cast<std::size_t>(tensor.dtype) * 1000003U +
                     static_cast<std::size_t>(tensor.storage_offset);
  const auto mix = [&hash](std::int64_t value) {
    hash ^= static_cast<std::size_t>(value) + 0x9e3779b97f4a7c15ULL + (hash << 6U) + (hash >> 2U);
  };
  mix(static_cast<std::int64_t>(tensor.device.type));
  mix(static_cast<std::int64_t>(tensor.sizes.size()));
  std::ranges::for_each(tensor.sizes, mix);
  std::ranges::for_each(tensor.strides, mix);
  return hash;
}

/// Returns the number of bytes from the storage's start to the end of the tensor.
[[nodiscard]] inline std::int64_t extent_bytes(const et_schema::Tensor& tensor) {
  std::int64_t elements = tensor.numel;
  if (tensor.has_strides && tensor.numel > 0) {
    elements = 1;
    for (std::size_t i = 0; i < std::min(tensor.sizes.size(), tensor.strides.size()); ++i) {
      elements += std::max<std::int64_t>(tensor.sizes[i] - 1, 0) * tensor.strides[i];
    }
  }
  return (tensor.storage_offset + elements) * tensor.item_bytes;
}

/// The observations so far of one storage lifetime.
struct Life {
  std::vector<std::size_t> layouts;             ///< of tensors written or, for externals, read
  std::vector<et_schema::NodeIndex> output_of;  ///< operators with this storage among their outputs
  std::int64_t bytes = 0;                       ///< largest extent of the tensors written
  std::vector<std::int64_t> item_bytes;
  et_schema::DeviceType device = et_schema::DeviceType::kNone;
  bool was_read = false;  ///< not only filled
  LastNumber number;

  [[nodiscard]] bool has_layout(const et_schema::Tensor& tensor) const {
    return std::ranges::find(layouts, hash_layout(tensor)) != layouts.end();
  }
  void add_layout(const et_schema::Tensor& tensor) {
    if (!has_layout(tensor)) {
      layouts.push_back(hash_layout(tensor));
      bytes = std::max(bytes, extent_bytes(tensor));
      item_bytes.push_back(tensor.item_bytes);
      device = tensor.device.type;
    }
  }
  /// Returns true if the tensor could be a view of this memory that was made without the
  /// dispatcher. Such a view keeps the item size.
  [[nodiscard]] bool same_kind(const et_schema::Tensor& tensor) const {
    return tensor.device.type == device &&
           std::ranges::find(item_bytes, tensor.item_bytes) != item_bytes.end();
  }
};

}  // namespace understudy::generator
