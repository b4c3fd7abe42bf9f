#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns for each defined tensor among the node's inputs, in order, the number in it if the
/// observer saw a single one (captured_ranges.h). Empty if the observer recorded no ranges.
[[nodiscard]] std::vector<std::optional<std::int64_t>> seen_numbers(const et_schema::Node& node);

/// The last number that was seen in a lifetime's layout since the last write.
class LastNumber {
 public:
  /// Returns true if the layout held another number, so that this is a different tensor.
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

/// Returns by tensor among an operator's inputs, without undefined ones, whether the operator fills
/// the memory without reading it: `out` of "aten::mm.out", and role "w" of a kernel.
[[nodiscard]] std::vector<bool> only_filled(const et_schema::Node& node);

/// Returns true if arithmetic of two zero-dimensional tensors would have this one's wider type but
/// has the other one's: then the tensor is a number, whatever was at its address before.
[[nodiscard]] bool would_widen(const et_schema::Node& reader, const et_schema::Tensor& tensor);

/// Returns true if the tensor is a Python scalar whose dtype is that of the result. It carries no
/// data flow, even if its address was used before.
[[nodiscard]] bool is_scalar_operand(const et_schema::Node& reader,
                                     const et_schema::Tensor& tensor);

}  // namespace understudy::generator
