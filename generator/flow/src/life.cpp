#include "life.h"

#include <algorithm>

namespace understudy::generator {

using et_schema::Tensor;

std::size_t hash_layout(const Tensor& tensor) {
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

std::int64_t extent_bytes(const Tensor& tensor) {
  std::int64_t elements = tensor.numel;
  if (tensor.has_strides && tensor.numel > 0) {
    elements = 1;
    for (std::size_t i = 0; i < std::min(tensor.sizes.size(), tensor.strides.size()); ++i) {
      elements += std::max<std::int64_t>(tensor.sizes[i] - 1, 0) * tensor.strides[i];
    }
  }
  return (tensor.storage_offset + elements) * tensor.item_bytes;
}

bool Life::has_layout(const Tensor& tensor) const {
  return std::ranges::find(layouts, hash_layout(tensor)) != layouts.end();
}

void Life::add_layout(const Tensor& tensor) {
  if (!has_layout(tensor)) {
    layouts.push_back(hash_layout(tensor));
    bytes = std::max(bytes, extent_bytes(tensor));
    item_bytes.push_back(tensor.item_bytes);
    device = tensor.device.type;
  }
}

bool Life::same_kind(const Tensor& tensor) const {
  return tensor.device.type == device &&
         std::ranges::find(item_bytes, tensor.item_bytes) != item_bytes.end();
}

}  // namespace understudy::generator
