#pragma once

#include <cstdint>

#include "et_schema/kineto/kineto.h"
#include "et_schema/support/arena.h"
#include "recorded_call.h"

namespace understudy::generator {

/// What tells of more ranks is damaged; each takes a tensor.
inline constexpr std::int64_t kMostRanks = 65536;

/// A record_param_comms as a trace has it.
struct RecordedComm {
  RecordedCall call;  ///< its tensors: the inputs and, where they are others, the outputs
  std::span<const et_schema::Value> outputs;
};

/// Makes the call of what its event says: name, elements, splits, group. `rank` is the root or the
/// peer, where there is one; `own_rank` is that of the process in the world. Tensors are flat;
/// where the kind has one for each rank, they are of one size.
[[nodiscard]] RecordedComm recorded_communication(const et_schema::KinetoComm& comm,
                                                  std::int64_t rank, std::int64_t own_rank,
                                                  et_schema::Arena arena);

}  // namespace understudy::generator
