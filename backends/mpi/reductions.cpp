#include "reductions.h"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "et_schema/support/assert.h"
#include "half.h"
#include "mpi_error.h"

namespace understudy::backends {

using et_schema::DType;

namespace {

template <typename Half, auto kCombine>
// NOLINTNEXTLINE(readability-non-const-parameter): MPI's signature
void reduce_halves(void* in, void* in_out, int* length, MPI_Datatype* /*type*/) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* into = static_cast<std::uint16_t*>(in_out);
  for (int i = 0; i < *length; ++i) {
    into[i] = Half::from_float(kCombine(Half::to_float(into[i]), Half::to_float(from[i])));
  }
}

template <typename Half>
[[nodiscard]] MPI_User_function* half_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return &reduce_halves<Half, std::plus<float>{}>;
    case ReduceOp::kProduct:
      return &reduce_halves<Half, std::multiplies<float>{}>;
    case ReduceOp::kMin:
      return &reduce_halves<Half, std::ranges::min>;
    case ReduceOp::kMax:
      return &reduce_halves<Half, std::ranges::max>;
    default:
      return nullptr;
  }
}

/// Divides integers as 64-bit ones, because a narrow type may not hold the number of ranks.
template <typename Number>
void divide_numbers(void* data, std::int64_t count, int ranks) {
  using Wide =
      std::conditional_t<std::is_integral_v<Number>,
                         std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>,
                         Number>;
  auto* numbers = static_cast<Number*>(data);
  std::for_each(numbers, numbers + count, [divisor = static_cast<Wide>(ranks)](Number& x) {
    x = static_cast<Number>(x / divisor);
  });
}

template <typename Half>
void divide_halves(void* data, std::int64_t count, int ranks) {
  auto* halves = static_cast<std::uint16_t*>(data);
  std::for_each(halves, halves + count, [divisor = static_cast<float>(ranks)](std::uint16_t& x) {
    x = Half::from_float(Half::to_float(x) / divisor);
  });
}

template <typename Number>
void multiply_numbers(const Buffer& buffer, double factor) {
  auto* numbers = static_cast<Number*>(buffer.data);
  std::for_each(numbers, numbers + buffer.count,
                [by = static_cast<Number>(factor)](Number& x) { x *= by; });
}

template <typename Half>
void multiply_halves(const Buffer& buffer, double factor) {
  auto* halves = static_cast<std::uint16_t*>(buffer.data);
  std::for_each(halves, halves + buffer.count, [by = static_cast<float>(factor)](std::uint16_t& x) {
    x = Half::from_float(Half::to_float(x) * by);
  });
}

/// How MPI and divide() see an element type.
struct ElementType {
  DType dtype;
  MPI_Datatype type;
  std::int64_t numbers;  ///< in an element
  void (*divide)(void* data, std::int64_t numbers, int ranks);
};

[[nodiscard]] const ElementType& element_type(DType dtype) {
  static const ElementType kTypes[] = {
      {DType::kBool, MPI_UINT8_T, 1, nullptr},
      {DType::kUInt8, MPI_UINT8_T, 1, divide_numbers<std::uint8_t>},
      {DType::kInt8, MPI_INT8_T, 1, divide_numbers<std::int8_t>},
      {DType::kInt16, MPI_INT16_T, 1, divide_numbers<std::int16_t>},
      {DType::kInt32, MPI_INT32_T, 1, divide_numbers<std::int32_t>},
      {DType::kInt64, MPI_INT64_T, 1, divide_numbers<std::int64_t>},
      {DType::kUInt16, MPI_UINT16_T, 1, divide_numbers<std::uint16_t>},
      {DType::kUInt32, MPI_UINT32_T, 1, divide_numbers<std::uint32_t>},
      {DType::kUInt64, MPI_UINT64_T, 1, divide_numbers<std::uint64_t>},
      {DType::kFloat32, MPI_FLOAT, 1, divide_numbers<float>},
      {DType::kFloat64, MPI_DOUBLE, 1, divide_numbers<double>},
      {DType::kComplexFloat32, MPI_C_FLOAT_COMPLEX, 2, divide_numbers<float>},
      {DType::kComplexFloat64, MPI_C_DOUBLE_COMPLEX, 2, divide_numbers<double>},
      {DType::kFloat16, MPI_UINT16_T, 1, divide_halves<Float16>},
      {DType::kBFloat16, MPI_UINT16_T, 1, divide_halves<BFloat16>},
      {DType::kComplexFloat16, MPI_UINT16_T, 2, divide_halves<Float16>},
  };
  const auto* found = std::ranges::find(kTypes, dtype, &ElementType::dtype);
  UNDERSTUDY_ASSERT(found != std::end(kTypes));
  return *found;
}

[[nodiscard]] bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kComplexFloat16;
}

// Bool is 0 or 1 in a byte, so "or" is the maximum, and "and" the minimum.
[[nodiscard]] MPI_Op bool_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProduct:
    case ReduceOp::kMin:
    case ReduceOp::kBand:
      return MPI_MIN;
    case ReduceOp::kBxor:
      return MPI_BXOR;
    default:
      return MPI_MAX;
  }
}

[[nodiscard]] MPI_Op number_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return MPI_SUM;
    case ReduceOp::kProduct:
      return MPI_PROD;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
    case ReduceOp::kBand:
      return MPI_BAND;
    case ReduceOp::kBor:
      return MPI_BOR;
    case ReduceOp::kBxor:
      return MPI_BXOR;
  }
  return MPI_OP_NULL;
}

}  // namespace

Reductions::~Reductions() {
  for (auto& [key, op] : half_ops_) {
    MPI_Op_free(&op);
  }
}

ReductionType Reductions::get(DType dtype, ReduceOp op) {
  const ElementType& element = element_type(dtype);
  if (is_half(dtype)) {
    return {element.type, half_op(dtype, op), element.numbers};
  }
  return {element.type, dtype == DType::kBool ? bool_op(op) : number_op(op), 1};
}

MPI_Op Reductions::half_op(DType dtype, ReduceOp op) {
  const auto [entry, is_new] = half_ops_.try_emplace({dtype, op}, MPI_OP_NULL);
  if (is_new) {
    MPI_User_function* function =
        dtype == DType::kBFloat16 ? half_function<BFloat16>(op) : half_function<Float16>(op);
    UNDERSTUDY_ASSERT(function != nullptr);
    constexpr int kCommutes = 1;
    check_mpi(MPI_Op_create(function, kCommutes, &entry->second), "MPI_Op_create");
  }
  return entry->second;
}

void Reductions::reduce_local(const Buffer& into, const void* from, ReduceOp op) {
  const ReductionType type = get(into.dtype, op);
  const std::int64_t total = into.count * type.per_element;
  const std::int64_t item = et_schema::item_size(into.dtype) / type.per_element;
  for (std::int64_t at = 0; at < total; at += kLargestPiece) {
    const int count = static_cast<int>(std::min(kLargestPiece, total - at));
    check_mpi(
        MPI_Reduce_local(static_cast<const std::byte*>(from) + at * item,
                         static_cast<std::byte*>(into.data) + at * item, count, type.type, type.op),
        "MPI_Reduce_local");
  }
}

void Reductions::divide(const Buffer& buffer, int ranks) {
  if (buffer.count > 0) {
    const ElementType& element = element_type(buffer.dtype);
    UNDERSTUDY_ASSERT(element.divide != nullptr);
    element.divide(buffer.data, buffer.count * element.numbers, ranks);
  }
}

void Reductions::multiply(const Buffer& buffer, double factor) {
  switch (buffer.dtype) {
    case DType::kFloat16:
      return multiply_halves<Float16>(buffer, factor);
    case DType::kBFloat16:
      return multiply_halves<BFloat16>(buffer, factor);
    case DType::kFloat64:
      return multiply_numbers<double>(buffer, factor);
    default:
      UNDERSTUDY_ASSERT(buffer.dtype == DType::kFloat32);  // check_call() saw to it
      return multiply_numbers<float>(buffer, factor);
  }
}

}  // namespace understudy::backends
