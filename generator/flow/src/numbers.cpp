#include "numbers.h"

#include "generator/flow/captured_ranges.h"

namespace understudy::generator {

std::vector<std::optional<std::int64_t>> seen_numbers(const et_schema::Node& node) {
  if (node.tensor_range.empty()) {
    return {};
  }
  const std::vector<CapturedRange> ranges = parse_ranges(node.tensor_range);
  std::vector<std::optional<std::int64_t>> numbers;
  std::size_t flat = 0;
  et_schema::for_each_tensor(node.inputs, [&](const et_schema::Tensor& tensor) {
    std::optional<std::int64_t> number;
    for (const CapturedRange& range : ranges) {
      if (range.tensor == flat && range.min == range.max && tensor.sizes.empty()) {
        number = range.min;
      }
    }
    if (tensor.defined()) {
      numbers.push_back(number);
    }
    ++flat;
  });
  return numbers;
}

}  // namespace understudy::generator
