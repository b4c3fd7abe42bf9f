#include "et_schema/model/slot_extent.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace understudy::et_schema {

std::int64_t element_count(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

bool is_contiguous(const Slot& slot) {
  return slot.strides.empty() || slot.strides == contiguous_strides(slot.sizes);
}

std::int64_t extent_elements(const Slot& slot) {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < slot.sizes.size(); ++dim) {
    if (slot.sizes[dim] == 0) {
      return 0;
    }
    last += (slot.sizes[dim] - 1) * (dim < slot.strides.size() ? slot.strides[dim] : 0);
  }
  return last + 1;
}

std::int64_t extent_bytes(const Slot& slot) {
  const std::int64_t elements = extent_elements(slot);
  return elements == 0 ? 0 : (slot.offset + elements) * item_size(slot.dtype);
}

}  // namespace understudy::et_schema
