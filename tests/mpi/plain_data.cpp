#include "plain_data.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace understudy::tests {

using et_schema::DType;

namespace {

template <typename Element>
void append(std::vector<std::byte>& bytes, Element element) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(Element));
  std::memcpy(bytes.data() + at, &element, sizeof(Element));
}

/// A binary floating-point number of any format with an implicit leading one, from its definition.
[[nodiscard]] std::uint16_t small_float(double number, int exponent_bits, int fraction_bits) {
  if (number == 0) {
    return 0;
  }
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(number), &exponent);  // in [0.5, 1)
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = std::ldexp(mantissa * 2 - 1, fraction_bits);
  if (fraction != std::floor(fraction) || exponent - 1 + bias <= 0) {
    throw std::logic_error("a test number that is not exact in its dtype");
  }
  const auto sign = static_cast<unsigned>(std::signbit(number)) << (exponent_bits + fraction_bits);
  const auto biased = static_cast<unsigned>(exponent - 1 + bias) << fraction_bits;
  return static_cast<std::uint16_t>(sign | biased | static_cast<unsigned>(fraction));
}

void append_number(std::vector<std::byte>& bytes, DType dtype, double number) {
  const auto integer = static_cast<std::int64_t>(number);
  switch (dtype) {
    case DType::kUInt8:
    case DType::kBool:
    case DType::kQUInt8:
    case DType::kFloat8E5M2:
      return append(bytes, static_cast<std::uint8_t>(integer));
    case DType::kInt8:
      return append(bytes, static_cast<std::int8_t>(integer));
    case DType::kInt16:
      return append(bytes, static_cast<std::int16_t>(integer));
    case DType::kUInt16:
      return append(bytes, static_cast<std::uint16_t>(integer));
    case DType::kInt32:
      return append(bytes, static_cast<std::int32_t>(integer));
    case DType::kUInt32:
      return append(bytes, static_cast<std::uint32_t>(integer));
    case DType::kInt64:
      return append(bytes, integer);
    case DType::kUInt64:
      return append(bytes, static_cast<std::uint64_t>(integer));
    case DType::kFloat16:
      return append(bytes, small_float(number, 5, 10));
    case DType::kBFloat16:
      return append(bytes, small_float(number, 8, 7));
    case DType::kFloat32:
      return append(bytes, static_cast<float>(number));
    case DType::kFloat64:
      return append(bytes, number);
    case DType::kComplexFloat16:
      append_number(bytes, DType::kFloat16, number);
      return append_number(bytes, DType::kFloat16, 0);
    case DType::kComplexFloat32:
      append_number(bytes, DType::kFloat32, number);
      return append_number(bytes, DType::kFloat32, 0);
    case DType::kComplexFloat64:
      append_number(bytes, DType::kFloat64, number);
      return append_number(bytes, DType::kFloat64, 0);
    default:
      throw std::logic_error("a dtype without an encoding in the tests");
  }
}

}  // namespace

std::vector<std::byte> encode(DType dtype, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes;
  for (const double number : numbers) {
    append_number(bytes, dtype, number);
  }
  return bytes;
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> dtypes = {
      DType::kUInt8,          DType::kInt8,           DType::kInt16,          DType::kInt32,
      DType::kInt64,          DType::kUInt16,         DType::kUInt32,         DType::kUInt64,
      DType::kFloat16,        DType::kBFloat16,       DType::kFloat32,        DType::kFloat64,
      DType::kComplexFloat16, DType::kComplexFloat32, DType::kComplexFloat64, DType::kBool,
      DType::kQUInt8,         DType::kFloat8E5M2};
  return dtypes;
}

}  // namespace understudy::tests
