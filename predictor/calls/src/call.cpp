#include "predictor/calls/call.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "et_schema/base/words.h"

namespace understudy::predictor {

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

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

std::vector<TensorLayout> parse_tensors(std::string_view text,
                                        const std::function<void(std::string_view)>& refuse) {
  std::vector<TensorLayout> tensors;
  et_schema::any_word(text, [&](std::string_view word) {
    std::optional<TensorLayout> tensor = et_schema::parse_tensor_layout(word);
    if (tensor) {
      tensors.push_back(std::move(*tensor));
    } else if (!word.empty()) {
      refuse(word);
    }
    return false;
  });
  return tensors;
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

}  // namespace understudy::predictor
