#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <utility>

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// MPI's type and operation for the elements of a reduction.
struct ReductionType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  std::int64_t per_element = 1;  ///< MPI elements in one element of the buffer
};

/// MPI's reductions, and user-defined ones for the half types, which MPI lacks.
class MpiReductions {
 public:
  MpiReductions() = default;
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;
  /// Frees the user-defined reductions; must run before MPI_Finalize.
  ~MpiReductions();

  /// Returns the type and operation of a reduction; the sum for an average. The pair must pass
  /// can_reduce().
  [[nodiscard]] ReductionType get(et_schema::DType dtype, ReduceOp op);

 private:
  [[nodiscard]] MPI_Op half_op(et_schema::DType dtype, ReduceOp op);
  std::map<std::pair<et_schema::DType, ReduceOp>, MPI_Op> half_ops_;
};

}  // namespace understudy::backends
