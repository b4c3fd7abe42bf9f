#include "mpi_types.h"

#include <algorithm>
#include <iterator>

#include "et_schema/base/assert.h"
#include "mpi_error.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/ranks/reduce_local.h"

namespace understudy::backends {

using et_schema::DType;

namespace {

struct MpiType {
  DType dtype;
  MPI_Datatype type;
  std::int64_t numbers = 1;  ///< numbers of `type` in an element
};

[[nodiscard]] const MpiType& mpi_type(DType dtype) {
  static const MpiType kTypes[] = {
      {DType::kBool, MPI_UINT8_T},
      {DType::kUInt8, MPI_UINT8_T},
      {DType::kInt8, MPI_INT8_T},
      {DType::kInt16, MPI_INT16_T},
      {DType::kInt32, MPI_INT32_T},
      {DType::kInt64, MPI_INT64_T},
      {DType::kUInt16, MPI_UINT16_T},
      {DType::kUInt32, MPI_UINT32_T},
      {DType::kUInt64, MPI_UINT64_T},
      {DType::kFloat32, MPI_FLOAT},
      {DType::kFloat64, MPI_DOUBLE},
      {DType::kComplexFloat32, MPI_C_FLOAT_COMPLEX},
      {DType::kComplexFloat64, MPI_C_DOUBLE_COMPLEX},
      {DType::kFloat16, MPI_UINT16_T},
      {DType::kBFloat16, MPI_UINT16_T},
      {DType::kComplexFloat16, MPI_UINT16_T, 2},
  };
  const auto* found = std::ranges::find(kTypes, dtype, &MpiType::dtype);
  UNDERSTUDY_ASSERT(found != std::end(kTypes));
  return *found;
}

[[nodiscard]] bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kComplexFloat16;
}

template <DType kHalf, ReduceOp kOp>
// NOLINTNEXTLINE(readability-non-const-parameter): MPI's signature
void reduce_halves_of_mpi(void* in, void* in_out, int* length, MPI_Datatype* /*type*/) {
  reduce_local({in_out, *length, kHalf}, in, kOp);
}

template <DType kHalf>
[[nodiscard]] MPI_User_function* half_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return &reduce_halves_of_mpi<kHalf, ReduceOp::kSum>;
    case ReduceOp::kProduct:
      return &reduce_halves_of_mpi<kHalf, ReduceOp::kProduct>;
    case ReduceOp::kMin:
      return &reduce_halves_of_mpi<kHalf, ReduceOp::kMin>;
    case ReduceOp::kMax:
      return &reduce_halves_of_mpi<kHalf, ReduceOp::kMax>;
    default:
      return nullptr;
  }
}

[[nodiscard]] MPI_Op number_op(ReduceOp op) {
  static const std::map<ReduceOp, MPI_Op> kOps = {
      {ReduceOp::kSum, MPI_SUM}, {ReduceOp::kAvg, MPI_SUM},  {ReduceOp::kProduct, MPI_PROD},
      {ReduceOp::kMin, MPI_MIN}, {ReduceOp::kMax, MPI_MAX},  {ReduceOp::kBand, MPI_BAND},
      {ReduceOp::kBor, MPI_BOR}, {ReduceOp::kBxor, MPI_BXOR}};
  return kOps.at(op);
}

}  // namespace

MpiReductions::~MpiReductions() {
  for (auto& [key, op] : half_ops_) {
    MPI_Op_free(&op);
  }
}

ReductionType MpiReductions::get(DType dtype, ReduceOp op) {
  const MpiType& known = mpi_type(dtype);
  return {
      known.type,
      is_half(dtype) ? half_op(dtype, op) : number_op(dtype == DType::kBool ? of_bools(op) : op),
      known.numbers};
}

MPI_Op MpiReductions::half_op(DType dtype, ReduceOp op) {
  const auto [entry, is_new] = half_ops_.try_emplace({dtype, op}, MPI_OP_NULL);
  if (is_new) {
    MPI_User_function* function = dtype == DType::kBFloat16 ? half_function<DType::kBFloat16>(op)
                                                            : half_function<DType::kFloat16>(op);
    UNDERSTUDY_ASSERT(function != nullptr);
    constexpr int kCommutes = 1;
    check_mpi(MPI_Op_create(function, kCommutes, &entry->second), "MPI_Op_create");
  }
  return entry->second;
}

}  // namespace understudy::backends
