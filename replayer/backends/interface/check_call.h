#pragma once

#include <cstdint>
#include <string>

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// What a call is checked against, and how errors name it.
struct CallPlace {
  int world_rank = 0;
  std::string group_name;
  int group_rank = 0;
  int group_size = 1;
};

/// Throws Error (failed) unless the number of buffers, their sizes, their dtype, the splits, the
/// root or peer and the reduction fit the call's kind, as backend.h tells.
void check_call(const Call& call, const CallPlace& place);

/// True if `op` is defined on elements of `dtype`.
[[nodiscard]] bool can_reduce(et_schema::DType dtype, ReduceOp op);

/// The reduction of bytes that are 0 or 1 that does what `op` does to bools: "or" is their maximum,
/// "and" their minimum.
[[nodiscard]] ReduceOp of_bools(ReduceOp op);

/// Whether calls of this kind can be in a batch: those that are issued without copies or waits of
/// the backend's own.
[[nodiscard]] bool goes_in_batch(et_schema::CommKind kind);

/// The dtype that the call's buffers share; kUndefined for a call without buffers.
[[nodiscard]] et_schema::DType dtype_of(const Call& call);
/// Bytes in a buffer.
[[nodiscard]] std::int64_t size_bytes(const Buffer& buffer);

}  // namespace understudy::backends
