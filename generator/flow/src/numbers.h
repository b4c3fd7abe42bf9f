#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns an entry for each defined input tensor, in order: the number in a zero-dimensional
/// tensor if the observer recorded it (captured_ranges.h), else empty. Returns an empty list if the
/// observer recorded no ranges.
[[nodiscard]] std::vector<std::optional<std::int64_t>> seen_numbers(const et_schema::Node& node);

/// The last number seen in a storage lifetime since its last write, and the layout that held it.
class LastNumber {
 public:
  /// Returns true if the layout held another number before: the tensor is then a different one.
  [[nodiscard]] bool excludes(std::size_t layout, std::optional<std::int64_t> number) const {
    return number && number_ && layout == layout_ && *number != *number_;
  }
  void see(std::size_t layout, std::optional<std::int64_t> number) {
    if (number) {
      layout_ = layout;
      number_ = number;
    }
  }
  void forget() { number_.reset(); }

 private:
  std::size_t layout_ = 0;
  std::optional<std::int64_t> number_;
};

/// Returns, by defined input tensor, whether the operator only fills the memory without reading it:
/// `out` of "aten::mm.out", and role "w" of a kernel.
[[nodiscard]] std::vector<bool> only_filled(const et_schema::Node& node);

/// Returns true if the reader adds, subtracts, multiplies or divides `tensor` and a
/// zero-dimensional tensor of a narrower dtype. If the result still lacks the wider dtype
/// (is_wrapped_number()), `tensor` is a Python scalar, whatever was at its address before.
[[nodiscard]] bool would_widen(const et_schema::Node& reader, const et_schema::Tensor& tensor);

/// Returns true if the tensor may be a Python scalar as argument `other` of the reader. Such a
/// scalar carries no data flow, even if its address was used before.
[[nodiscard]] bool is_scalar_operand(const et_schema::Node& reader,
                                     const et_schema::Tensor& tensor);

}  // namespace understudy::generator
