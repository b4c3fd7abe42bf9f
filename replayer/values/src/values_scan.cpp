#include <ATen/ops/_values.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/op_class.h"
#include "replayer/values/values.h"
#include "values_device.h"

namespace understudy::replayer {
namespace {

/// Signed integers and no branches, so that the compiler vectorises the loop.
template <typename Bits>
ValueHealth scan_bits(const void* data, std::int64_t count, const FloatBits& layout) {
  const auto* elements = static_cast<const Bits*>(data);
  const auto all = static_cast<Bits>(layout.magnitude);
  const auto infinity = static_cast<Bits>(layout.infinity);
  const auto normal = static_cast<Bits>(layout.normal);
  Bits nan = 0;
  Bits inf = 0;
  Bits subnormal = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Bits>(elements[i] & all);
    nan = static_cast<Bits>(nan | static_cast<Bits>(magnitude > infinity));
    inf = static_cast<Bits>(inf | static_cast<Bits>(magnitude == infinity));
    subnormal = static_cast<Bits>(
        subnormal | (static_cast<Bits>(magnitude > 0) & static_cast<Bits>(magnitude < normal)));
  }
  return {.nan = nan != 0, .inf = inf != 0, .subnormal = subnormal != 0};
}

template <typename T>
ValueHealth meaning_of(const std::array<bool, 256>& seen) {
  ValueHealth health;
  for (std::size_t code = 0; code < seen.size(); ++code) {
    if (!seen[code]) {
      continue;
    }
    const auto value = static_cast<float>(T(static_cast<std::uint8_t>(code), T::from_bits()));
    const auto smallest = static_cast<float>(std::numeric_limits<T>::min());
    health.nan |= value != value;
    health.inf |= std::abs(value) == std::numeric_limits<float>::infinity();
    health.subnormal |= value != 0 && std::abs(value) < smallest;
  }
  return health;
}

ValueHealth scan_bytes(const void* data, std::int64_t count, at::ScalarType dtype) {
  std::array<bool, 256> seen{};
  if (!health_of_codes(dtype, seen)) {
    return {};
  }
  const auto* elements = static_cast<const std::uint8_t*>(data);
  for (std::int64_t i = 0; i < count; ++i) {
    seen[elements[i]] = true;
  }
  return *health_of_codes(dtype, seen);
}

ValueHealth scan_dense(const void* data, std::int64_t count, at::ScalarType dtype) {
  const std::optional<FloatBits> bits = float_bits(c10::toRealValueType(dtype));
  if (!bits) {
    return scan_bytes(data, count, dtype);
  }
  const std::int64_t parts = c10::isComplexType(dtype) ? 2 * count : count;
  switch (bits->integer) {
    case at::kShort:
      return scan_bits<std::int16_t>(data, parts, *bits);
    case at::kInt:
      return scan_bits<std::int32_t>(data, parts, *bits);
    default:
      return scan_bits<std::int64_t>(data, parts, *bits);
  }
}

/// Returns true for dtypes with float's exponents or wider. Smaller dtypes are computed as float,
/// where their subnormals are normal numbers.
bool costs_time_where_subnormal(at::ScalarType dtype) {
  switch (c10::toRealValueType(dtype)) {
    case at::kFloat:
    case at::kDouble:
    case at::kBFloat16:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<FloatBits> float_bits(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return FloatBits{at::kShort, 0x7FFF, 0x7C00, 0x0400};
    case at::kBFloat16:
      return FloatBits{at::kShort, 0x7FFF, 0x7F80, 0x0080};
    case at::kFloat:
      return FloatBits{at::kInt, 0x7FFFFFFF, 0x7F800000, 0x00800000};
    case at::kDouble:
      return FloatBits{at::kLong, std::numeric_limits<std::int64_t>::max(), 0x7FF0000000000000,
                       0x0010000000000000};
    default:
      return std::nullopt;
  }
}

std::optional<ValueHealth> health_of_codes(at::ScalarType dtype,
                                           const std::array<bool, 256>& seen) {
  switch (dtype) {
    case at::kFloat8_e5m2:
      return meaning_of<c10::Float8_e5m2>(seen);
    case at::kFloat8_e4m3fn:
      return meaning_of<c10::Float8_e4m3fn>(seen);
    case at::kFloat8_e5m2fnuz:
      return meaning_of<c10::Float8_e5m2fnuz>(seen);
    case at::kFloat8_e4m3fnuz:
      return meaning_of<c10::Float8_e4m3fnuz>(seen);
    case at::kFloat8_e8m0fnu:
      return meaning_of<c10::Float8_e8m0fnu>(seen);
    default:
      return std::nullopt;
  }
}

bool leaves_elements_unwritten(std::string_view op, std::size_t result) {
  if (et_schema::allocates_memory(op) || op.find("resize") != std::string_view::npos) {
    return true;
  }
  const int part = et_schema::operator_facts(op).part_written;
  return part >= 0 && static_cast<std::size_t>(part) == result;
}

ValueHealth scan(const at::Tensor& tensor) {
  const bool floating = tensor.defined() && (at::isFloatingType(tensor.scalar_type()) ||
                                             at::isComplexType(tensor.scalar_type()));
  if (!floating || tensor.is_meta() || tensor._is_zerotensor()) {
    return {};
  }
  if (tensor.is_sparse()) {
    return scan(tensor._values());
  }
  if (tensor.layout() != at::kStrided || tensor.numel() == 0) {
    return {};
  }
  at::Tensor seen = tensor;
  for (std::int64_t dim = 0; dim < seen.dim(); ++dim) {
    if (seen.stride(dim) == 0) {
      seen = seen.narrow(dim, 0, 1);
    }
  }
  ValueHealth health;
  const std::optional<ValueHealth> on_device = seen.is_cpu() ? std::nullopt : scan_on_device(seen);
  if (on_device) {
    health = *on_device;
  } else {
    if (!seen.is_cpu() || !seen.is_non_overlapping_and_dense()) {
      seen = seen.cpu().contiguous();
    }
    health = scan_dense(seen.data_ptr(), seen.numel(), seen.scalar_type());
  }
  health.subnormal =
      health.subnormal && tensor.is_cpu() && costs_time_where_subnormal(seen.scalar_type());
  return health;
}

}  // namespace understudy::replayer
