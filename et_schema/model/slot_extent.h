#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Elements of a tensor of these sizes.
[[nodiscard]] std::int64_t element_count(std::span<const std::int64_t> sizes);
[[nodiscard]] inline std::int64_t element_count(const Slot& slot) {
  return element_count(slot.sizes);
}

/// Its strides where its elements lie in order, without holes.
[[nodiscard]] std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> sizes);
/// Whether they do; those of a slot without strides are taken to.
[[nodiscard]] bool is_contiguous(const Slot& slot);

/// Elements of its storage from a slot's first to behind its last, 0 of an empty one: fewer than it
/// has where strides repeat them, more where they leave some out. A dimension without a stride,
/// which sparse tensors may have, repeats.
[[nodiscard]] std::int64_t extent_elements(const Slot& slot);

/// Bytes from the storage's beginning to behind the slot's last element; 0 of an empty one.
[[nodiscard]] std::int64_t extent_bytes(const Slot& slot);

}  // namespace understudy::et_schema
