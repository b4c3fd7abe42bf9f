#include "replayer/values/values.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <optional>

#include "replayer/values/store.h"
#include "values_device.h"
#include "values_store.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;

/// How a dtype without arithmetic is stored, and its default rule: any storable numbers, so that no
/// branch is always taken.
struct Stored {
  at::ScalarType as;  ///< an integer dtype; the dtype itself if it has arithmetic
  std::optional<ValueRule> rule;
};

Stored stored(at::ScalarType dtype) {
  constexpr std::int64_t kByteValues = 256;
  const ValueRule signed_bytes{
      ValueRule::Integers{.low = -kByteValues / 2, .high = kByteValues / 2}};
  const ValueRule bytes{ValueRule::Integers{.high = kByteValues}};
  switch (dtype) {
    case at::kQInt8:
      return {at::kChar, signed_bytes};
    case at::kQInt32:
      return {at::kInt, signed_bytes};
    case at::kQUInt8:
    case at::kQUInt4x2:
    case at::kQUInt2x4:
    case at::ScalarType::Bits1x8:
    case at::ScalarType::Bits2x4:
    case at::ScalarType::Bits4x2:
    case at::ScalarType::Bits8:
      return {at::kByte, bytes};
    case at::ScalarType::Bits16:
      return {at::kUInt16, bytes};
    case at::ScalarType::Float4_e2m1fn_x2:
      return {at::kByte, ValueRule{ValueRule::Constant{0x22}}};  // two ones
    case at::ScalarType::Int1:
    case at::ScalarType::Int2:
    case at::ScalarType::Int3:
    case at::ScalarType::Int4:
    case at::ScalarType::Int5:
    case at::ScalarType::Int6:
    case at::ScalarType::Int7:
      return {at::kChar, std::nullopt};
    case at::ScalarType::UInt1:
    case at::ScalarType::UInt2:
    case at::ScalarType::UInt3:
    case at::ScalarType::UInt4:
    case at::ScalarType::UInt5:
    case at::ScalarType::UInt6:
    case at::ScalarType::UInt7:
      return {at::kByte, std::nullopt};
    default:
      return {dtype, std::nullopt};
  }
}

at::Tensor as_numbers(const at::Tensor& tensor) {
  const at::ScalarType dtype = stored(tensor.scalar_type()).as;
  if (dtype == tensor.scalar_type()) {
    return tensor;
  }
  at::Tensor numbers = at::empty({0}, at::TensorOptions().device(tensor.device()).dtype(dtype));
  return numbers.set_(tensor.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

/// Returns a device's generator, seeded by the key alone.
at::Generator generator_of(c10::Device device, ValueKey key) {
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(key.seed * kGolden + key.stream);
  return generator;
}

}  // namespace

ValueRule default_rule(at::ScalarType dtype, at::IntArrayRef sizes) {
  const std::optional<ValueRule> rule = stored(dtype).rule;
  return rule ? *rule : rule_by_shape(dtype, sizes);
}

void fill_tensor(const at::Tensor& tensor, const ValueRule& rule, ValueKey key) {
  if (!tensor.defined() || tensor.numel() == 0 || tensor.layout() != at::kStrided ||
      tensor.is_meta()) {
    return;
  }
  const at::Tensor once = without_repeats(tensor);
  if (!once.is_cpu() && fill_on_device(once, rule, generator_of(once.device(), key))) {
    return;
  }
  fill_by_rule(without_repeats(as_numbers(tensor)), rule, key);
}

}  // namespace understudy::replayer
