#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// For each defined tensor among the node's inputs, in order, the number in it if the observer saw
/// a single one (captured_ranges.h). Empty if the observer looked at none.
[[nodiscard]] std::vector<std::optional<std::int64_t>> seen_numbers(const et_schema::Node& node);

/// The last number that was seen in a lifetime's layout, until something writes it.
class LastNumber {
 public:
  /// Whether the layout holds another number, so that this is another tensor.
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

/// By tensor among an operator's inputs, undefined ones left out: whether it fills that memory
/// without having read it, as `out` of "aten::mm.out" and what a kernel's roles call "w".
[[nodiscard]] std::vector<bool> only_filled(const et_schema::Node& node);

/// Whether arithmetic of two tensors without dimensions would have this one's wider type, and has
/// the other one's: then it is a number, whatever was at its address before.
[[nodiscard]] bool would_widen(const et_schema::Node& reader, const et_schema::Tensor& tensor);

/// Whether the tensor is a Python scalar whose dtype is that of the result. It is no data flow,
/// even if its address was used before.
[[nodiscard]] bool is_scalar_operand(const et_schema::Node& reader,
                                     const et_schema::Tensor& tensor);

}  // namespace understudy::generator
