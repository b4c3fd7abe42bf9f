#include "replayer/backends/ranks/reduce_local.h"

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "et_schema/base/assert.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/half.h"

namespace understudy::backends {

using et_schema::DType;

namespace {

/// into[i] = combine(into[i], from[i])
template <typename Element, typename Combine>
void combine_each(void* into, const void* from, std::int64_t count, Combine combine) {
  auto* const to = static_cast<Element*>(into);
  std::transform(to, to + count, static_cast<const Element*>(from), to, combine);
}

/// Integers are added and multiplied as unsigned numbers, which may wrap around.
template <typename Number>
using Wide = std::conditional_t<std::is_integral_v<Number>, std::uint64_t, Number>;

/// Calls apply(combine), where combine(a, b) is the operation on two numbers.
template <typename Number, typename Apply>
void with_operation(ReduceOp op, Apply apply) {
  const auto widely = [&](auto combine) {
    apply([combine](Number a, Number b) {
      return static_cast<Number>(
          combine(static_cast<Wide<Number>>(a), static_cast<Wide<Number>>(b)));
    });
  };
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return widely(std::plus<>{});
    case ReduceOp::kProduct:
      return widely(std::multiplies<>{});
    default:
      break;
  }
  if constexpr (std::totally_ordered<Number>) {
    if (op == ReduceOp::kMin) {
      return apply([](Number a, Number b) { return std::min(a, b); });
    }
    if (op == ReduceOp::kMax) {
      return apply([](Number a, Number b) { return std::max(a, b); });
    }
  }
  if constexpr (std::is_integral_v<Number>) {
    const auto bits = [&](auto combine) {
      apply([combine](Number a, Number b) { return static_cast<Number>(combine(a, b)); });
    };
    if (op == ReduceOp::kBand) {
      return bits(std::bit_and<>{});
    }
    return op == ReduceOp::kBor ? bits(std::bit_or<>{}) : bits(std::bit_xor<>{});
  }
  UNDERSTUDY_ASSERT(false);
}

template <typename Number>
void reduce_numbers(void* into, const void* from, std::int64_t count, ReduceOp op) {
  with_operation<Number>(op,
                         [&](auto combine) { combine_each<Number>(into, from, count, combine); });
}

void reduce_bools(void* into, const void* from, std::int64_t count, ReduceOp op) {
  reduce_numbers<std::uint8_t>(into, from, count, of_bools(op));
}

template <typename Half>
void reduce_halves(void* into, const void* from, std::int64_t count, ReduceOp op) {
  with_operation<float>(op, [&](auto combine) {
    combine_each<std::uint16_t>(into, from, count, [combine](std::uint16_t a, std::uint16_t b) {
      return Half::from_float(combine(Half::to_float(a), Half::to_float(b)));
    });
  });
}

/// number = change(number)
template <typename Number, typename Change>
void change_each(void* data, std::int64_t count, Change change) {
  auto* numbers = static_cast<Number*>(data);
  std::transform(numbers, numbers + count, numbers, change);
}

/// Divides integers as 64-bit numbers, because a narrow type may not hold the number of ranks.
template <typename Number>
void scale_numbers(void* data, std::int64_t count, int divisor, double factor) {
  const auto by = static_cast<Number>(factor);
  if (divisor == 1) {
    return change_each<Number>(data, count, [by](Number x) { return static_cast<Number>(x * by); });
  }
  using Divisor =
      std::conditional_t<std::is_integral_v<Number>,
                         std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>,
                         Number>;
  change_each<Number>(data, count, [wide = static_cast<Divisor>(divisor)](Number x) {
    return static_cast<Number>(x / wide);
  });
}

template <typename Half>
void scale_halves(void* data, std::int64_t count, int divisor, double factor) {
  change_each<std::uint16_t>(
      data, count, [divisor, by = static_cast<float>(factor)](std::uint16_t x) {
        const float number = Half::to_float(x);
        return Half::from_float(divisor == 1 ? number * by : number / static_cast<float>(divisor));
      });
}

struct ElementType {
  DType dtype;
  void (*reduce)(void* into, const void* from, std::int64_t elements, ReduceOp op);
  void (*scale)(void* data, std::int64_t numbers, int divisor, double factor);
  std::int64_t numbers = 1;  ///< numbers in an element, for `scale`
};

/// Complex halves are only added, number by number.
void reduce_complex_halves(void* into, const void* from, std::int64_t count, ReduceOp op) {
  reduce_halves<Float16>(into, from, 2 * count, op);
}

template <typename Number>
[[nodiscard]] constexpr ElementType numbers_of(DType dtype) {
  return {dtype, reduce_numbers<Number>, scale_numbers<Number>};
}

[[nodiscard]] const ElementType& element_type(DType dtype) {
  static const ElementType kTypes[] = {
      {DType::kBool, reduce_bools, nullptr},
      numbers_of<std::uint8_t>(DType::kUInt8),
      numbers_of<std::int8_t>(DType::kInt8),
      numbers_of<std::int16_t>(DType::kInt16),
      numbers_of<std::int32_t>(DType::kInt32),
      numbers_of<std::int64_t>(DType::kInt64),
      numbers_of<std::uint16_t>(DType::kUInt16),
      numbers_of<std::uint32_t>(DType::kUInt32),
      numbers_of<std::uint64_t>(DType::kUInt64),
      numbers_of<float>(DType::kFloat32),
      numbers_of<double>(DType::kFloat64),
      {DType::kComplexFloat32, reduce_numbers<std::complex<float>>, scale_numbers<float>, 2},
      {DType::kComplexFloat64, reduce_numbers<std::complex<double>>, scale_numbers<double>, 2},
      {DType::kFloat16, reduce_halves<Float16>, scale_halves<Float16>},
      {DType::kBFloat16, reduce_halves<BFloat16>, scale_halves<BFloat16>},
      {DType::kComplexFloat16, reduce_complex_halves, scale_halves<Float16>, 2},
  };
  const auto* found = std::ranges::find(kTypes, dtype, &ElementType::dtype);
  UNDERSTUDY_ASSERT(found != std::end(kTypes));
  return *found;
}

}  // namespace

void reduce_local(const Buffer& into, const void* from, ReduceOp op) {
  if (into.count > 0) {
    element_type(into.dtype).reduce(into.data, from, into.count, op);
  }
}

void scale(const Buffer& buffer, int divisor, double factor) {
  if (buffer.count > 0 && (divisor != 1 || factor != 1)) {
    const ElementType& element = element_type(buffer.dtype);
    UNDERSTUDY_ASSERT(element.scale != nullptr);
    element.scale(buffer.data, buffer.count * element.numbers, divisor, factor);
  }
}

}  // namespace understudy::backends
