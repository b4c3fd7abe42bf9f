#include "numbers.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "et_schema/base/words.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/compiled_kernel.h"
#include "generator/flow/captured_ranges.h"
#include "generator/flow/flow.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::DType;

bool is_plain_scalar(const Tensor& tensor) {
  return tensor.sizes.empty() && tensor.numel == 1 &&
         tensor.device.type == et_schema::DeviceType::kCpu &&
         (tensor.dtype == DType::kFloat64 || tensor.dtype == DType::kInt64 ||
          tensor.dtype == DType::kComplexFloat64);
}

/// Returns the roles of a kernel's arguments, from the text argument that has one role for each
/// argument before it; empty if there is none.
std::vector<std::string_view> roles_of(const et_schema::Node& node) {
  const auto text = std::ranges::find_if(node.inputs, [](const et_schema::Value& value) {
    return value.is(et_schema::ValueKind::kString);
  });
  if (text == node.inputs.end()) {
    return {};
  }
  const auto arguments = static_cast<std::size_t>(text - node.inputs.begin());
  return et_schema::kernel_roles(text->text(), arguments).value_or(std::vector<std::string_view>());
}

}  // namespace

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

std::vector<bool> only_filled(const et_schema::Node& node) {
  const bool is_kernel = et_schema::classify(node) == et_schema::NodeClass::kKernel;
  const std::vector<std::string_view> roles =
      is_kernel ? roles_of(node) : std::vector<std::string_view>();
  const int out = is_kernel ? -1 : et_schema::argument_index(node.op_schema, "out");
  std::vector<bool> filled;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_filled =
        node.inputs[i].is(et_schema::ValueKind::kTensor) &&
        (is_kernel ? i < roles.size() && roles[i] == "w" : static_cast<int>(i) == out);
    et_schema::for_each_tensor(std::span(&node.inputs[i], 1), [&](const et_schema::Tensor& tensor) {
      if (tensor.defined()) {
        filled.push_back(is_filled);
      }
    });
  }
  return filled;
}

bool would_widen(const Node& reader, const Tensor& tensor) {
  if (!et_schema::has_word("aten::add aten::sub aten::mul aten::div", reader.name)) {
    return false;
  }
  std::size_t inputs = 0;
  std::size_t narrower = 0;
  et_schema::for_each_tensor(reader.inputs, [&](const Tensor& input) {
    ++inputs;
    if (input.sizes.empty() && input.item_bytes < tensor.item_bytes &&
        is_floating(input.dtype) == is_floating(tensor.dtype)) {
      ++narrower;
    }
  });
  return inputs == 2 && narrower == 1;
}

bool is_scalar_operand(const Node& reader, const Tensor& tensor) {
  return is_plain_scalar(tensor) && et_schema::argument_index(reader.op_schema, "other") == 1;
}

bool is_wrapped_number(const Node& node, const Tensor& input) {
  if (!is_plain_scalar(input)) {
    return false;
  }
  std::size_t inputs = 0;
  et_schema::for_each_tensor(node.inputs, [&inputs](const Tensor&) { ++inputs; });
  if (inputs < 2) {
    return false;
  }
  const Tensor* result = nullptr;
  et_schema::for_each_tensor(node.outputs, [&result](const Tensor& output) {
    result = result == nullptr ? &output : result;
  });
  return result != nullptr && result->defined() && result->dtype != input.dtype;
}

}  // namespace understudy::generator
