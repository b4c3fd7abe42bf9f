#include "values_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;

constexpr std::size_t kBlock = 1024;

/// Makes one element of type T from a draw.
template <typename T>
class Store {
 public:
  Store(const ValueRule& rule, at::ScalarType dtype) : rule_(rule), dtype_(dtype) {
    if constexpr (!std::is_integral_v<T>) {
      const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
      const auto largest = static_cast<double>(std::numeric_limits<T>::max());
      smallest_ = static_cast<double>(std::numeric_limits<T>::min());
      // Infinities are asked for on purpose, as in attention masks.
      const auto* constant = rule.as<ValueRule::Constant>();
      const bool infinite = constant != nullptr && std::isinf(constant->value);
      highest_ = infinite ? constant->value : largest;
      lowest_ = infinite ? constant->value : -largest;
      if (const auto* uniform = rule.as<ValueRule::Uniform>();
          uniform != nullptr && uniform->low < uniform->high) {
        // Rounding must not leave [low, high).
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
      // One above the largest, made of halves: the largest 64-bit integer is no double itself.
      constexpr double kBeyond = 2 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
      if (!(whole >= static_cast<double>(std::numeric_limits<T>::min()) && whole < kBeyond)) {
        refuse(value);
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
        refuse(static_cast<double>(value));
      }
      return static_cast<T>(value);
    } else {
      return from_real_to_float(static_cast<double>(value));
    }
  }

 private:
  [[noreturn]] void refuse(double number) const {
    refuse_rule(rule_, fmt::format("numbers that fit {}", c10::toString(dtype_)),
                fmt::format("{}", number));
  }

  [[nodiscard]] static T rounded(double value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return static_cast<T>(static_cast<float>(value));
    }
  }

  [[nodiscard]] T from_real_to_float(double value) const {
    if constexpr (std::is_same_v<T, c10::Float8_e8m0fnu>) {
      // Powers of two only: neither zero nor negative numbers exist.
      constexpr float kSmallest = 0x1.0p-126F;
      return T(std::max(std::abs(static_cast<float>(value)), kSmallest));
    } else {
      const double bounded = std::min(std::max(value, lowest_), highest_);
      return rounded(std::abs(bounded) < smallest_ ? 0 : bounded);
    }
  }

  const ValueRule& rule_;
  at::ScalarType dtype_;
  double lowest_ = 0;
  double highest_ = 0;
  double smallest_ = 0;
};

template <typename T>
void store(const Draws& draws, const ValueRule& rule, std::int64_t first, std::span<T> out,
           at::ScalarType dtype) {
  const Store<T> make(rule, dtype);
  std::array<double, kBlock> reals{};
  std::array<std::int64_t, kBlock> integers{};
  for (std::size_t done = 0; done < out.size(); done += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - done);
    const std::int64_t begin = first + static_cast<std::int64_t>(done);
    if (draws.integral()) {
      draws.integers(begin, std::span(integers).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        out[done + i] = make.from_integer(integers[i]);
      }
    } else {
      draws.reals(begin, std::span(reals).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        out[done + i] = make.from_real(reals[i]);
      }
    }
  }
}

}  // namespace

void store_draws(const Draws& draws, const ValueRule& rule, std::int64_t first, std::int64_t count,
                 void* data, at::ScalarType dtype) {
  const auto as = [&]<typename T>(std::int64_t parts) {
    store(draws, rule, first * parts,
          std::span(static_cast<T*>(data), static_cast<std::size_t>(count * parts)), dtype);
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

}  // namespace understudy::replayer
