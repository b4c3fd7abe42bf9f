#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/trace.h"
#include "numbers.h"

namespace understudy::generator {

/// Stands for a tensor's type, device, offset, sizes and strides.
[[nodiscard]] std::size_t hash_layout(const et_schema::Tensor& tensor);

/// Number of bytes from the storage's start to the end of the tensor.
[[nodiscard]] std::int64_t extent_bytes(const et_schema::Tensor& tensor);

/// What was seen of a lifetime of memory so far.
struct Life {
  std::vector<std::size_t> layouts;             ///< of what was written or, for externals, read
  std::vector<et_schema::NodeIndex> output_of;  ///< operators that have it among their outputs
  std::int64_t bytes = 0;                       ///< largest extent of what was written
  std::vector<std::int64_t> item_bytes;
  et_schema::DeviceType device = et_schema::DeviceType::kNone;
  LastNumber number;

  [[nodiscard]] bool has_layout(const et_schema::Tensor& tensor) const;
  void add_layout(const et_schema::Tensor& tensor);
  /// Whether a view made without the dispatcher could be of this memory; no view changes the item
  /// size.
  [[nodiscard]] bool same_kind(const et_schema::Tensor& tensor) const;
};

}  // namespace understudy::generator
