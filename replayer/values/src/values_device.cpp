#include "values_device.h"

#include <ATen/ops/bincount.h>
#include <ATen/ops/stack.h>
#include <c10/core/ScalarType.h>

#include <algorithm>

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;

/// Elements processed at once, to keep temporaries small.
constexpr std::int64_t kChunk = std::int64_t{1} << 24U;
constexpr std::int64_t kCodes = 256;  // values of a byte

/// Calls visit(part) for the parts of a dense tensor, in any order of its elements.
template <typename Visitor>
void for_each_chunk(const at::Tensor& tensor, Visitor visit) {
  const at::Tensor flat = tensor.as_strided({tensor.numel()}, {1}, tensor.storage_offset());
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kChunk) {
    visit(flat.narrow(0, begin, std::min(kChunk, flat.numel() - begin)));
  }
}

/// Returns the smallest normal number of a dtype with few exponents, so that common draws can be
/// below it.
std::optional<double> smallest_normal(at::ScalarType dtype) {
  constexpr double kSmallestHalf = 6.103515625e-05;  // 2^-14
  return dtype == at::kHalf ? std::optional(kSmallestHalf) : std::nullopt;
}

/// Sets subnormal draws to 0.
void flush_subnormals(const at::Tensor& part) {
  if (const auto smallest = smallest_normal(part.scalar_type())) {
    part.masked_fill_(part.abs().lt(*smallest), 0);
  }
}

std::optional<ValueHealth> scan_codes(const at::Tensor& tensor) {
  std::array<bool, kCodes> seen{};
  if (!health_of_codes(tensor.scalar_type(), seen)) {
    return std::nullopt;
  }
  for_each_chunk(tensor, [&](const at::Tensor& part) {
    const at::Tensor found = at::bincount(part.view(at::kByte), {}, kCodes).gt(0).cpu();
    const bool* const flags = found.const_data_ptr<bool>();
    std::transform(seen.begin(), seen.end(), flags, seen.begin(), std::logical_or<>());
  });
  std::optional<ValueHealth> health = health_of_codes(tensor.scalar_type(), seen);
  health->subnormal = false;
  return health;
}

}  // namespace

bool fill_on_device(const at::Tensor& tensor, const ValueRule& rule, at::Generator generator) {
  const at::ScalarType dtype = tensor.scalar_type();
  const bool has_kernels =
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || dtype == at::kBFloat16;
  if (!has_kernels || !tensor.is_non_overlapping_and_dense()) {
    return false;
  }
  if (rule.is<ValueRule::Zeros>()) {
    tensor.zero_();
    return true;
  }
  if (const auto* constant = rule.as<ValueRule::Constant>()) {
    tensor.fill_(constant->value);
    return true;
  }
  if (const auto* uniform = rule.as<ValueRule::Uniform>()) {
    for_each_chunk(tensor, [&](const at::Tensor& part) {
      flush_subnormals(part.uniform_(uniform->low, uniform->high, generator));
    });
    return true;
  }
  if (const auto* normal = rule.as<ValueRule::Normal>()) {
    for_each_chunk(tensor, [&](const at::Tensor& part) {
      flush_subnormals(part.normal_(normal->mean, normal->deviation, generator));
    });
    return true;
  }
  return false;
}

std::optional<ValueHealth> scan_on_device(const at::Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense()) {
    return std::nullopt;
  }
  const std::optional<FloatBits> bits = float_bits(tensor.scalar_type());
  if (!bits) {
    return scan_codes(tensor);
  }
  ValueHealth health;
  for_each_chunk(tensor, [&](const at::Tensor& part) {
    const at::Tensor magnitude = part.view(bits->integer).bitwise_and(bits->magnitude);
    const at::Tensor found =
        at::stack({magnitude.gt(bits->infinity).any(), magnitude.eq(bits->infinity).any()}).cpu();
    const bool* const flags = found.const_data_ptr<bool>();
    health.nan |= flags[0];
    health.inf |= flags[1];
  });
  return health;
}

}  // namespace understudy::replayer
