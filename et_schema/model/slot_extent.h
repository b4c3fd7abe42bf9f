#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

[[nodiscard]] std::int64_t element_count(std::span<const std::int64_t> sizes);
[[nodiscard]] inline std::int64_t element_count(const Slot& slot) {
  return element_count(slot.sizes);
}

[[nodiscard]] std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> sizes);
/// Returns true if the slot is contiguous, or has no strides.
[[nodiscard]] bool is_contiguous(const Slot& slot);

/// Returns the number of storage elements from the slot's first to its last, both included; 0 if
/// the slot is empty. The number is below element_count() if strides repeat elements, above it if
/// strides skip some. A dimension without a stride (sparse tensors) repeats its elements.
[[nodiscard]] std::int64_t extent_elements(const Slot& slot);

/// Returns the bytes from the storage's beginning to the end of the slot's last element; 0 if the
/// slot is empty.
[[nodiscard]] std::int64_t extent_bytes(const Slot& slot);

}  // namespace understudy::et_schema
