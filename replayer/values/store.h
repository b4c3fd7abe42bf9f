#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <c10/util/TypeCast.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "et_schema/model/value_rule.h"
#include "replayer/values/draws.h"

namespace understudy::replayer {

/// Thrown for a number that an integer type cannot hold.
struct DoesNotFit : std::range_error {
  explicit DoesNotFit(double drawn)
      : std::range_error("a value rule gives a number that its tensor cannot hold: " +
                         std::to_string(drawn)),
        number(drawn) {}
  double number;
};

/// Converts a draw to type T. Numbers beyond a floating type's range become its largest; numbers
/// that would be subnormal become 0.
template <typename T>
class Store {
 public:
  explicit Store(const et_schema::ValueRule& rule) {
    if constexpr (!std::is_integral_v<T>) {
      const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
      const auto largest = static_cast<double>(std::numeric_limits<T>::max());
      smallest_ = static_cast<double>(std::numeric_limits<T>::min());
      // An infinite constant is intended, as in attention masks. All else is kept within the range.
      const auto* constant = rule.as<et_schema::ValueRule::Constant>();
      const bool infinite = constant != nullptr && std::isinf(constant->value);
      highest_ = infinite ? constant->value : largest;
      lowest_ = infinite ? constant->value : -largest;
      if (const auto* uniform = rule.as<et_schema::ValueRule::Uniform>();
          uniform != nullptr && uniform->low < uniform->high) {
        // Rounding must not reach `high`.
        const double below = uniform->high - std::max(std::abs(uniform->high) * epsilon, smallest_);
        highest_ = std::min(highest_, std::max(below, uniform->low));
      }
    }
  }

  [[nodiscard]] T from_real(double value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const double whole = std::floor(value);
      // The largest value + 1, computed from halves: the largest 64-bit integer is not a double.
      constexpr double kBeyond = 2 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
      if (!(whole >= static_cast<double>(std::numeric_limits<T>::min()) && whole < kBeyond)) {
        throw DoesNotFit(value);
      }
      return static_cast<T>(whole);
    } else {
      return from_real_to_float(value);
    }
  }

  [[nodiscard]] T from_integer(std::int64_t value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value != 0;
    } else if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) {
        throw DoesNotFit(static_cast<double>(value));
      }
      return static_cast<T>(value);
    } else {
      return from_real_to_float(static_cast<double>(value));
    }
  }

 private:
  [[nodiscard]] static T rounded(double value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return c10::convert<T>(static_cast<float>(value));
    }
  }

  [[nodiscard]] T from_real_to_float(double value) const {
    if constexpr (std::is_same_v<T, c10::Float8_e8m0fnu>) {
      // The type has powers of two only, without zero and negative numbers.
      constexpr float kSmallest = 0x1.0p-126F;
      return T(std::max(std::abs(static_cast<float>(value)), kSmallest));
    } else {
      const double bounded = std::min(std::max(value, lowest_), highest_);
      return rounded(std::abs(bounded) < smallest_ ? 0 : bounded);
    }
  }

  double lowest_ = 0;
  double highest_ = 0;
  double smallest_ = 0;
};

template <typename T>
void store(const Draws& draws, const et_schema::ValueRule& rule, std::int64_t first,
           std::span<T> out) {
  constexpr std::size_t kBlock = 1024;
  const Store<T> make(rule);
  std::array<double, kBlock> reals{};
  std::array<std::int64_t, kBlock> integers{};
  for (std::size_t done = 0; done < out.size(); done += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - done);
    const std::int64_t begin = first + static_cast<std::int64_t>(done);
    if (draws.integral()) {
      draws.draw(begin, std::span(integers).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        out[done + i] = make.from_integer(integers[i]);
      }
    } else {
      draws.draw(begin, std::span(reals).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        out[done + i] = make.from_real(reals[i]);
      }
    }
  }
}

/// Writes the draws of elements [first, first + count) to `data` as `dtype`; writes nothing for
/// dtypes without arithmetic. Throws DoesNotFit.
inline void store(const Draws& draws, const et_schema::ValueRule& rule, std::int64_t first,
                  std::int64_t count, void* data, at::ScalarType dtype) {
  const auto as = [&]<typename T>(std::int64_t parts) {
    store(draws, rule, first * parts,
          std::span(static_cast<T*>(data), static_cast<std::size_t>(count * parts)));
  };
  constexpr std::int64_t kReal = 1;
  constexpr std::int64_t kComplex = 2;  // both parts are drawn
  switch (dtype) {
    case at::kByte:
      return as.operator()<std::uint8_t>(kReal);
    case at::kChar:
      return as.operator()<std::int8_t>(kReal);
    case at::kShort:
      return as.operator()<std::int16_t>(kReal);
    case at::kInt:
      return as.operator()<std::int32_t>(kReal);
    case at::kLong:
      return as.operator()<std::int64_t>(kReal);
    case at::kUInt16:
      return as.operator()<std::uint16_t>(kReal);
    case at::kUInt32:
      return as.operator()<std::uint32_t>(kReal);
    case at::kUInt64:
      return as.operator()<std::uint64_t>(kReal);
    case at::kBool:
      return as.operator()<bool>(kReal);
    case at::kHalf:
      return as.operator()<c10::Half>(kReal);
    case at::kBFloat16:
      return as.operator()<c10::BFloat16>(kReal);
    case at::kFloat:
      return as.operator()<float>(kReal);
    case at::kDouble:
      return as.operator()<double>(kReal);
    case at::kFloat8_e5m2:
      return as.operator()<c10::Float8_e5m2>(kReal);
    case at::kFloat8_e4m3fn:
      return as.operator()<c10::Float8_e4m3fn>(kReal);
    case at::kFloat8_e5m2fnuz:
      return as.operator()<c10::Float8_e5m2fnuz>(kReal);
    case at::kFloat8_e4m3fnuz:
      return as.operator()<c10::Float8_e4m3fnuz>(kReal);
    case at::kFloat8_e8m0fnu:
      return as.operator()<c10::Float8_e8m0fnu>(kReal);
    case at::kComplexHalf:
      return as.operator()<c10::Half>(kComplex);
    case at::kComplexFloat:
      return as.operator()<float>(kComplex);
    case at::kComplexDouble:
      return as.operator()<double>(kComplex);
    default:
      return;
  }
}

inline constexpr std::int64_t kLargestKernelSide = 11;

inline std::int64_t fan_in(at::IntArrayRef sizes) {
  const auto spatial = sizes.slice(2);
  const bool kernel = !spatial.empty() && std::all_of(spatial.begin(), spatial.end(), [](auto s) {
    return s <= kLargestKernelSide;
  });
  if (!kernel) {
    return sizes.back();
  }
  std::int64_t product = 1;
  for (const std::int64_t size : sizes.slice(1)) {
    product *= std::max<std::int64_t>(size, 1);
  }
  return product;
}

/// Returns the rule for a tensor without one and with a dtype that has arithmetic: see
/// default_rule().
inline et_schema::ValueRule rule_by_shape(at::ScalarType dtype, at::IntArrayRef sizes) {
  using Rule = et_schema::ValueRule;
  // Larger one-dimensional tensors are assumed to be flattened tables or parameters.
  constexpr std::int64_t kFlattened = 65536;
  constexpr double kSmallestDeviation = 1.0 / 64;
  const bool floating = at::isFloatingType(dtype) || at::isComplexType(dtype);
  if (dtype == at::kBool || sizes.empty()) {
    return {Rule::Constant{1}};
  }
  if (!floating) {
    return {Rule::Zeros{}};
  }
  if (sizes.size() == 1 && sizes[0] <= kFlattened) {
    return {Rule::Uniform{.low = 0.5, .high = 1}};
  }
  if (sizes.size() == 1) {
    return {Rule::Normal{.deviation = kSmallestDeviation}};
  }
  const auto inputs = static_cast<double>(std::max<std::int64_t>(fan_in(sizes), 1));
  return {Rule::Normal{.deviation = std::clamp(1 / std::sqrt(inputs), kSmallestDeviation, 1.0)}};
}

/// Returns the tensor without dimensions that repeat elements, so that each is written once.
inline at::Tensor without_repeats(at::Tensor tensor) {
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) {
      tensor = tensor.narrow(dim, 0, 1);
    }
  }
  return tensor;
}

/// Fills a tensor without repeats, of any strides and device; element i counts in row-major order.
/// Throws DoesNotFit.
inline void fill_once(const at::Tensor& target, const et_schema::ValueRule& rule, ValueKey key) {
  const Draws draws(rule, key, target.numel());
  if (target.is_cpu() && target.is_contiguous()) {
    store(draws, rule, 0, target.numel(), target.data_ptr(), target.scalar_type());
    return;
  }
  const at::Tensor made = at::empty(target.sizes(), target.options().device(at::kCPU));
  store(draws, rule, 0, made.numel(), made.data_ptr(), made.scalar_type());
  target.copy_(made);
}

}  // namespace understudy::replayer
