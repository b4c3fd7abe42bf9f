#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <utility>

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// The elements of a reduction as MPI sees them.
struct ReductionType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  std::int64_t per_element = 1;  ///< MPI elements in one element of the buffer
};

/// MPI's reductions, and own ones for the half types, which MPI does not have.
class MpiReductions {
 public:
  MpiReductions() = default;
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;
  /// Frees the own ones; must run before MPI_Finalize.
  ~MpiReductions();

  /// The pair must pass can_reduce(). Of an average it is the sum.
  [[nodiscard]] ReductionType get(et_schema::DType dtype, ReduceOp op);

 private:
  [[nodiscard]] MPI_Op half_op(et_schema::DType dtype, ReduceOp op);
  std::map<std::pair<et_schema::DType, ReduceOp>, MPI_Op> half_ops_;
};

}  // namespace understudy::backends
