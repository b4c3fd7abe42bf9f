#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <utility>

#include "backends/communicator.h"

namespace understudy::backends {

/// MPI counts elements with an int: a larger number of them is handled in pieces of this many.
inline constexpr std::int64_t kLargestPiece = std::int64_t{1} << 30U;

/// The elements of a reduction as MPI sees them.
struct ReductionType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  std::int64_t per_element = 1;  ///< MPI elements in one element of the buffer
};

/// MPI's reductions, and the backend's own ones for the half types, which MPI does not have.
class Reductions {
 public:
  Reductions() = default;
  Reductions(const Reductions&) = delete;
  Reductions& operator=(const Reductions&) = delete;
  /// Frees the backend's own ones; must run before MPI_Finalize.
  ~Reductions();

  /// The pair must pass can_reduce(). get() gives an average's sum; see divide().
  [[nodiscard]] ReductionType get(et_schema::DType dtype, ReduceOp op);

  /// Computes into = into op from, for elements of equal size.
  void reduce_local(const Buffer& into, const void* from, ReduceOp op);

  /// Turns a sum over `ranks` into an average; integers are truncated.
  static void divide(const Buffer& buffer, int ranks);
  /// Multiplies floating-point numbers by `factor`.
  static void multiply(const Buffer& buffer, double factor);

 private:
  [[nodiscard]] MPI_Op half_op(et_schema::DType dtype, ReduceOp op);
  std::map<std::pair<et_schema::DType, ReduceOp>, MPI_Op> half_ops_;
};

}  // namespace understudy::backends
