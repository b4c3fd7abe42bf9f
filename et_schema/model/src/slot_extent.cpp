#include "et_schema/model/slot_extent.h"

#include <cstddef>

namespace understudy::et_schema {

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
