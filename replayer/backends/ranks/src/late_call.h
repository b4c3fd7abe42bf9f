#pragma once

#include <cstdint>
#include <vector>

#include "board.h"
#include "et_schema/base/error.h"
#include "group.h"
#include "processes.h"
#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// A call that did not complete within the time limit.
struct LateCall {
  const Call& call;
  const Group& group;
  std::uint64_t index;  ///< number of the call among those of its kind in the group, from 1
  int world_rank;
  double time_limit_s;
};

/// The question to ask, and the world ranks to ask: the rest of the group, or the peer of a send or
/// receive.
[[nodiscard]] Question question_of(const LateCall& late);
[[nodiscard]] std::vector<int> ranks_to_ask(const LateCall& late);

/// The error for a rank of the call that has died, as seen from its host, or that the wire has lost
/// while its process is there, or cannot be seen.
[[nodiscard]] et_schema::Error lost_rank_error(const LateCall& late, int world_rank,
                                               Processes::State process);

/// The error that tells which rank waits for which, from the others' answers.
[[nodiscard]] et_schema::Error late_call_error(const LateCall& late,
                                               const std::vector<Heard>& heard);

}  // namespace understudy::backends
