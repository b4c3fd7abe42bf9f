#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"

namespace understudy::et_schema {

/// A tensor among an operator's arguments or results.
struct TensorLayout {
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides = {};  ///< in elements; empty: contiguous; all 0: sparse
  /// Number of elements that a sparse tensor stores, if known.
  std::optional<std::int64_t> stored = {};
  Device device = {DeviceType::kCpu, -1};
  bool operator==(const TensorLayout&) const = default;
};

/// Returns the number of elements; for a sparse tensor that of the stored ones, if known.
[[nodiscard]] std::int64_t element_count(const TensorLayout& tensor);
/// Returns the bytes of the elements in memory. A dimension of stride 0 counts once.
[[nodiscard]] double stored_bytes(const TensorLayout& tensor);
/// Returns true if the strides are a contiguous tensor's. Dimensions of size 1 are ignored.
[[nodiscard]] bool is_contiguous(const TensorLayout& tensor);
/// Clears the strides of a contiguous tensor, so that equal layouts have equal texts.
void drop_contiguous_strides(TensorLayout& tensor);
/// Returns "float32[4,5]", "float32[4,5;1,4]" with strides, or "float32[4,5;0,0;10]" for a sparse
/// tensor with 10 stored elements. The device is omitted.
[[nodiscard]] std::string to_string(const TensorLayout& tensor);
/// Returns the texts of all tensors, separated by blanks.
[[nodiscard]] std::string to_string(const std::vector<TensorLayout>& tensors);
/// Parses to_string() of one tensor. Returns null if the text has another form or a negative size.
[[nodiscard]] std::optional<TensorLayout> parse_tensor_layout(std::string_view text);

}  // namespace understudy::et_schema
