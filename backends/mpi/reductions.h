#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <utility>

#include "backends/communicator.h"

namespace understudy::backends {

/// An int counts MPI's elements: of what has more, this many at a time.
inline constexpr std::int64_t kLargestPiece = std::int64_t{1} << 30U;

/// How MPI sees the elements of a reduction.
struct ReductionType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  std::int64_t per_element = 1;  ///< MPI elements in one of ours
};

/// The reductions of MPI, and our own of the half types, which MPI does not have.
class Reductions {
 public:
  Reductions() = default;
  Reductions(const Reductions&) = delete;
  Reductions& operator=(const Reductions&) = delete;
  /// Frees our own; before MPI_Finalize.
  ~Reductions();

  /// The pair must pass can_reduce(). An average is summed here; see divide().
  [[nodiscard]] ReductionType get(et_schema::DType dtype, ReduceOp op);

  /// into = into op from, elements of one size.
  void reduce_local(const Buffer& into, const void* from, ReduceOp op);

  /// Makes an average of a sum over `ranks`; integers are truncated.
  static void divide(const Buffer& buffer, int ranks);

 private:
  [[nodiscard]] MPI_Op half_op(et_schema::DType dtype, ReduceOp op);
  std::map<std::pair<et_schema::DType, ReduceOp>, MPI_Op> half_ops_;
};

}  // namespace understudy::backends
