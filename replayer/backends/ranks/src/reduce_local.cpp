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

template <typename Number>
void reduce_numbers(void* into, const void* from, std::int64_t count, ReduceOp op) {
  const auto each = [&](auto combine) { combine_each<Number>(into, from, count, combine); };
  const auto widely = [&](auto combine) {
    each([combine](Number a, Number b) {
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
      return each([](Number a, Number b) { return std::min(a, b); });
    }
    if (op == ReduceOp::kMax) {
      return each([](Number a, Number b) { return std::max(a, b); });
    }
  }
  if constexpr (std::is_integral_v<Number>) {
    const auto bits = [&](auto combine) {
      each([combine](Number a, Number b) { return static_cast<Number>(combine(a, b)); });
    };
    if (op == ReduceOp::kBand) {
      return bits(std::bit_and<>{});
    }
    return op == ReduceOp::kBor ? bits(std::bit_or<>{}) : bits(std::bit_xor<>{});
  }
  UNDERSTUDY_ASSERT(false);
}

void reduce_bools(void* into, const void* from, std::int64_t count, ReduceOp op) {
  reduce_numbers<std::uint8_t>(into, from, count, of_bools(op));
}

template <typename Half>
void reduce_halves(void* into, const void* from, std::int64_t count, ReduceOp op) {
  const auto each = [&](auto combine) {
    combine_each<std::uint16_t>(into, from, count, [combine](std::uint16_t a, std::uint16_t b) {
      return Half::from_float(combine(Half::to_float(a), Half::to_float(b)));
    });
  };
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return each(std::plus<float>{});
    case ReduceOp::kProduct:
      return each(std::multiplies<float>{});
    case ReduceOp::kMin:
      return each([](float a, float b) { return std::min(a, b); });
    case ReduceOp::kMax:
      return each([](float a, float b) { return std::max(a, b); });
    default:
      UNDERSTUDY_ASSERT(false);
  }
}

/// Divides integers as 64-bit numbers, because a narrow type may not hold the number of ranks.
template <typename Number>
void divide_numbers(void* data, std::int64_t count, int ranks) {
  using Divisor =
      std::conditional_t<std::is_integral_v<Number>,
                         std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>,
                         Number>;
  auto* numbers = static_cast<Number*>(data);
  std::for_each(numbers, numbers + count, [divisor = static_cast<Divisor>(ranks)](Number& x) {
    x = static_cast<Number>(x / divisor);
  });
}

/// half = change(half)
template <typename Half, typename Change>
void change_halves(void* data, std::int64_t count, Change change) {
  auto* halves = static_cast<std::uint16_t*>(data);
  std::for_each(halves, halves + count,
                [change](std::uint16_t& x) { x = Half::from_float(change(Half::to_float(x))); });
}

template <typename Half>
void divide_halves(void* data, std::int64_t count, int ranks) {
  change_halves<Half>(data, count,
                      [divisor = static_cast<float>(ranks)](float x) { return x / divisor; });
}

template <typename Number>
void multiply_numbers(const Buffer& buffer, double factor) {
  auto* numbers = static_cast<Number*>(buffer.data);
  std::for_each(numbers, numbers + buffer.count,
                [by = static_cast<Number>(factor)](Number& x) { x *= by; });
}

template <typename Half>
void multiply_halves(const Buffer& buffer, double factor) {
  change_halves<Half>(buffer.data, buffer.count,
                      [by = static_cast<float>(factor)](float x) { return x * by; });
}

struct ElementType {
  DType dtype;
  void (*reduce)(void* into, const void* from, std::int64_t elements, ReduceOp op);
  void (*divide)(void* data, std::int64_t numbers, int ranks);
  std::int64_t numbers = 1;  ///< numbers in an element, for `divide`
};

/// Complex halves are only added, number by number.
void reduce_complex_halves(void* into, const void* from, std::int64_t count, ReduceOp op) {
  reduce_halves<Float16>(into, from, 2 * count, op);
}

template <typename Number>
[[nodiscard]] constexpr ElementType numbers_of(DType dtype) {
  return {dtype, reduce_numbers<Number>, divide_numbers<Number>};
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
      {DType::kComplexFloat32, reduce_numbers<std::complex<float>>, divide_numbers<float>, 2},
      {DType::kComplexFloat64, reduce_numbers<std::complex<double>>, divide_numbers<double>, 2},
      {DType::kFloat16, reduce_halves<Float16>, divide_halves<Float16>},
      {DType::kBFloat16, reduce_halves<BFloat16>, divide_halves<BFloat16>},
      {DType::kComplexFloat16, reduce_complex_halves, divide_halves<Float16>, 2},
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

void divide(const Buffer& buffer, int ranks) {
  if (buffer.count > 0) {
    const ElementType& element = element_type(buffer.dtype);
    UNDERSTUDY_ASSERT(element.divide != nullptr);
    element.divide(buffer.data, buffer.count * element.numbers, ranks);
  }
}

void multiply(const Buffer& buffer, double factor) {
  switch (buffer.dtype) {
    case DType::kFloat16:
      return multiply_halves<Float16>(buffer, factor);
    case DType::kBFloat16:
      return multiply_halves<BFloat16>(buffer, factor);
    case DType::kFloat64:
      return multiply_numbers<double>(buffer, factor);
    default:
      UNDERSTUDY_ASSERT(buffer.dtype == DType::kFloat32);  // checked by check_call()
      return multiply_numbers<float>(buffer, factor);
  }
}

}  // namespace understudy::backends
