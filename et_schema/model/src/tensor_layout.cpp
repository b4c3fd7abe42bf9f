#include "et_schema/model/tensor_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace understudy::et_schema {
namespace {

std::optional<std::vector<std::int64_t>> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 0) {
      return std::nullopt;
    }
    sizes.push_back(value);
    if (end + 1 == text.size()) {
      return std::nullopt;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sizes;
}

}  // namespace

std::int64_t element_count(const TensorLayout& tensor) {
  if (tensor.stored) {
    return *tensor.stored;
  }
  double count = 1;
  for (const std::int64_t size : tensor.sizes) {
    count *= static_cast<double>(size);
  }
  // Sizes come from files: their product can overflow 64 bits.
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::min(count, kMost));
}

double stored_bytes(const TensorLayout& tensor) {
  const auto item = static_cast<double>(item_size(tensor.dtype));
  if (tensor.stored) {
    return static_cast<double>(*tensor.stored) * item;
  }
  double count = 1;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    const bool is_expanded = tensor.strides.size() == tensor.sizes.size() &&
                             tensor.strides[i] == 0 && tensor.sizes[i] > 0;
    count *= is_expanded ? 1 : static_cast<double>(tensor.sizes[i]);
  }
  return count * item;
}

bool is_contiguous(const TensorLayout& tensor) {
  if (tensor.strides.size() != tensor.sizes.size()) {
    return true;
  }
  double expected = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] != 1 && static_cast<double>(tensor.strides[i]) != expected) {
      return false;
    }
    expected *= static_cast<double>(tensor.sizes[i]);
  }
  return true;
}

void drop_contiguous_strides(TensorLayout& tensor) {
  if (!tensor.stored && is_contiguous(tensor)) {
    tensor.strides.clear();
  }
}

std::string to_string(const TensorLayout& tensor) {
  std::string text = fmt::format("{}[{}", to_string(tensor.dtype), fmt::join(tensor.sizes, ","));
  if (!tensor.strides.empty()) {
    text += fmt::format(";{}", fmt::join(tensor.strides, ","));
  }
  return text + (tensor.stored ? fmt::format(";{}]", *tensor.stored) : "]");
}

std::string to_string(const std::vector<TensorLayout>& tensors) {
  std::string text;
  for (const TensorLayout& tensor : tensors) {
    text += (text.empty() ? "" : " ") + to_string(tensor);
  }
  return text;
}

std::optional<TensorLayout> parse_tensor_layout(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') {
    return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_from_string(text.substr(0, open));
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  // Sizes, strides, and the number of stored elements.
  std::array<std::optional<std::vector<std::int64_t>>, 3> parts;
  for (auto& part : parts) {
    const std::size_t semicolon = std::min(inside.find(';'), inside.size());
    part = parse_sizes(inside.substr(0, semicolon));
    inside.remove_prefix(std::min(semicolon + 1, inside.size()));
    if (!part) {
      return std::nullopt;
    }
  }
  const auto& [sizes, strides, stored] = parts;
  const bool has_strides = !strides->empty();
  if (!dtype || !inside.empty() || (has_strides && strides->size() != sizes->size()) ||
      stored->size() > (has_strides ? 1 : 0)) {
    return std::nullopt;
  }
  TensorLayout layout{*dtype, *sizes, *strides};
  if (!stored->empty()) {
    layout.stored = stored->front();
  }
  return layout;
}

}  // namespace understudy::et_schema
