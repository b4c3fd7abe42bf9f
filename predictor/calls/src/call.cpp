#include "predictor/calls/call.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "et_schema/base/enum_names.h"

namespace understudy::predictor {
namespace {

constexpr et_schema::EnumNames<TimedAs::kHost> kTimedNames("timed_call", "device", "host");

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
  const auto item = static_cast<double>(et_schema::item_size(tensor.dtype));
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

std::int64_t rows_met(std::int64_t rows, std::int64_t draws) {
  const auto all = static_cast<double>(rows);
  return rows < 1 ? 0 : std::llround(all * -std::expm1(-static_cast<double>(draws) / all));
}

std::optional<OperatorCall> sparse_update(const OperatorCall& call,
                                          std::optional<std::int64_t> met_rows) {
  const bool adds = call.name == "aten::add_" && call.inputs.size() > 1 && call.inputs[1].stored &&
                    !call.inputs[0].stored;
  if (!adds || call.inputs[1].sizes.empty()) {
    return std::nullopt;
  }
  const TensorLayout& gradient = call.inputs[1];
  std::int64_t row_length = 1;
  bool overflows = false;
  for (std::size_t i = 1; i < gradient.sizes.size(); ++i) {
    overflows = overflows || __builtin_mul_overflow(row_length, gradient.sizes[i], &row_length);
  }
  if (overflows || row_length < 1 || *gradient.stored % row_length != 0) {
    return std::nullopt;
  }
  const std::int64_t rows = *gradient.stored / row_length;
  std::vector<std::int64_t> values = gradient.sizes;
  values.front() = rows;
  const TensorLayout& table = call.inputs.front();
  TensorLayout written = table;
  if (!written.sizes.empty()) {
    written.sizes.front() = met_rows.value_or(rows_met(written.sizes.front(), rows));
  }
  return OperatorCall{"aten::index_add_",
                      "sparse",
                      {table, {DType::kInt64, {rows}}, {gradient.dtype, values}},
                      {written}};
}

std::string to_string(const TensorLayout& tensor) {
  std::string text =
      fmt::format("{}[{}", et_schema::to_string(tensor.dtype), fmt::join(tensor.sizes, ","));
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

std::optional<DType> dtype_of_tool_name(std::string_view name) {
  constexpr std::string_view kTorch = "torch.";
  constexpr std::array<std::pair<std::string_view, DType>, 14> kNames = {
      {{"float", DType::kFloat32},
       {"fp32", DType::kFloat32},
       {"double", DType::kFloat64},
       {"fp64", DType::kFloat64},
       {"half", DType::kFloat16},
       {"fp16", DType::kFloat16},
       {"bf16", DType::kBFloat16},
       {"f8e4m3", DType::kFloat8E4M3Fn},
       {"f8e5m2", DType::kFloat8E5M2},
       {"int", DType::kInt32},
       {"long", DType::kInt64},
       {"char", DType::kInt8},
       {"byte", DType::kUInt8},
       {"bool", DType::kBool}}};
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  text = text.substr(text.starts_with(kTorch) ? kTorch.size() : 0);
  const auto* const known =
      std::ranges::find(kNames, text, &std::pair<std::string_view, DType>::first);
  return known == kNames.end() ? et_schema::dtype_from_string(text) : std::optional(known->second);
}

std::optional<TensorLayout> parse_tensor_layout(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') {
    return std::nullopt;
  }
  const std::optional<DType> dtype = et_schema::dtype_from_string(text.substr(0, open));
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

std::string_view to_string(TimedAs timed) {
  return kTimedNames[timed];
}

std::optional<TimedAs> timed_as_from_string(std::string_view name) {
  return kTimedNames.find(name);
}

}  // namespace understudy::predictor
