#include "reductions.h"

#include <algorithm>

#include "et_schema/support/assert.h"
#include "half.h"
#include "mpi_error.h"

namespace understudy::backends {

using et_schema::DType;

namespace {

constexpr std::int64_t kPartsOfComplex = 2;

struct Sum {
  static float combine(float a, float b) { return a + b; }
};
struct Product {
  static float combine(float a, float b) { return a * b; }
};
struct Minimum {
  static float combine(float a, float b) { return std::min(a, b); }
};
struct Maximum {
  static float combine(float a, float b) { return std::max(a, b); }
};

template <typename Half, typename Operation>
// NOLINTNEXTLINE(readability-non-const-parameter): MPI's signature
void reduce_halves(void* in, void* in_out, int* length, MPI_Datatype* /*type*/) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* into = static_cast<std::uint16_t*>(in_out);
  for (int i = 0; i < *length; ++i) {
    into[i] =
        Half::from_float(Operation::combine(Half::to_float(into[i]), Half::to_float(from[i])));
  }
}

template <typename Half>
[[nodiscard]] MPI_User_function* half_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return &reduce_halves<Half, Sum>;
    case ReduceOp::kProduct:
      return &reduce_halves<Half, Product>;
    case ReduceOp::kMin:
      return &reduce_halves<Half, Minimum>;
    case ReduceOp::kMax:
      return &reduce_halves<Half, Maximum>;
    default:
      return nullptr;
  }
}

[[nodiscard]] bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kComplexFloat16;
}

[[nodiscard]] MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kBool:
      return MPI_UINT8_T;
    case DType::kInt8:
      return MPI_INT8_T;
    case DType::kInt16:
      return MPI_INT16_T;
    case DType::kInt32:
      return MPI_INT32_T;
    case DType::kInt64:
      return MPI_INT64_T;
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kComplexFloat16:
      return MPI_UINT16_T;
    case DType::kUInt32:
      return MPI_UINT32_T;
    case DType::kUInt64:
      return MPI_UINT64_T;
    case DType::kFloat32:
      return MPI_FLOAT;
    case DType::kFloat64:
      return MPI_DOUBLE;
    case DType::kComplexFloat32:
      return MPI_C_FLOAT_COMPLEX;
    case DType::kComplexFloat64:
      return MPI_C_DOUBLE_COMPLEX;
    default:
      return MPI_DATATYPE_NULL;
  }
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

/// Divides integers as 64-bit ones, because a narrow type may not hold the number of ranks.
template <typename Number>
void divide_numbers(const Buffer& buffer, int ranks, std::int64_t per_element = 1) {
  using Wide =
      std::conditional_t<std::is_integral_v<Number>,
                         std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>,
                         Number>;
  auto* numbers = static_cast<Number*>(buffer.data);
  std::for_each(
      numbers, numbers + buffer.count * per_element,
      [divisor = static_cast<Wide>(ranks)](Number& x) { x = static_cast<Number>(x / divisor); });
}

template <typename Half>
void divide_halves(const Buffer& buffer, int ranks, std::int64_t per_element = 1) {
  auto* halves = static_cast<std::uint16_t*>(buffer.data);
  std::for_each(halves, halves + buffer.count * per_element,
                [divisor = static_cast<float>(ranks)](std::uint16_t& x) {
                  x = Half::from_float(Half::to_float(x) / divisor);
                });
}

}  // namespace

Reductions::~Reductions() {
  for (auto& [key, op] : half_ops_) {
    MPI_Op_free(&op);
  }
}

ReductionType Reductions::get(DType dtype, ReduceOp op) {
  ReductionType result;
  result.type = mpi_type(dtype);
  UNDERSTUDY_ASSERT(result.type != MPI_DATATYPE_NULL);
  result.per_element = dtype == DType::kComplexFloat16 ? kPartsOfComplex : 1;
  if (is_half(dtype)) {
    result.op = half_op(dtype, op);
  } else {
    result.op = dtype == DType::kBool ? bool_op(op) : number_op(op);
  }
  return result;
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
  switch (buffer.dtype) {
    case DType::kUInt8:
      return divide_numbers<std::uint8_t>(buffer, ranks);
    case DType::kInt8:
      return divide_numbers<std::int8_t>(buffer, ranks);
    case DType::kInt16:
      return divide_numbers<std::int16_t>(buffer, ranks);
    case DType::kInt32:
      return divide_numbers<std::int32_t>(buffer, ranks);
    case DType::kInt64:
      return divide_numbers<std::int64_t>(buffer, ranks);
    case DType::kUInt16:
      return divide_numbers<std::uint16_t>(buffer, ranks);
    case DType::kUInt32:
      return divide_numbers<std::uint32_t>(buffer, ranks);
    case DType::kUInt64:
      return divide_numbers<std::uint64_t>(buffer, ranks);
    case DType::kFloat32:
      return divide_numbers<float>(buffer, ranks);
    case DType::kFloat64:
      return divide_numbers<double>(buffer, ranks);
    case DType::kComplexFloat32:
      return divide_numbers<float>(buffer, ranks, kPartsOfComplex);
    case DType::kComplexFloat64:
      return divide_numbers<double>(buffer, ranks, kPartsOfComplex);
    case DType::kFloat16:
      return divide_halves<Float16>(buffer, ranks);
    case DType::kComplexFloat16:
      return divide_halves<Float16>(buffer, ranks, kPartsOfComplex);
    case DType::kBFloat16:
      return divide_halves<BFloat16>(buffer, ranks);
    default:
      UNDERSTUDY_ASSERT(buffer.count == 0);
  }
}

}  // namespace understudy::backends
