#pragma once

#include <cstdint>
#include <string>

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// The group and rank that a call is checked against, and their names for errors.
struct CallPlace {
  int world_rank = 0;
  std::string group_name;
  int group_rank = 0;
  int group_size = 1;
};

/// Throws Error (failed) unless the number of buffers, their sizes and dtype, the splits, the root
/// or peer, and the reduction fit the call's kind, as documented at Call.
void check_call(const Call& call, const CallPlace& place);

/// Returns true if `op` is defined on elements of `dtype`.
[[nodiscard]] bool can_reduce(et_schema::DType dtype, ReduceOp op);

/// Returns the reduction of bytes (0 or 1) that equals `op` on bools: the maximum for "or", the
/// minimum for "and".
[[nodiscard]] ReduceOp of_bools(ReduceOp op);

/// Returns true if calls of this kind can be in a batch: the backend issues them without copies or
/// waits of its own.
[[nodiscard]] bool goes_in_batch(et_schema::CommKind kind);

/// Returns the dtype that the call's buffers share; kUndefined for a call without buffers.
[[nodiscard]] et_schema::DType dtype_of(const Call& call);
[[nodiscard]] std::int64_t size_bytes(const Buffer& buffer);

}  // namespace understudy::backends
