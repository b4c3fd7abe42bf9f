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

/// Return the question, and the world ranks to ask: the rest of the group, or the peer of a send or
/// receive.
[[nodiscard]] Question question_of(const LateCall& late);
[[nodiscard]] std::vector<int> ranks_to_ask(const LateCall& late);

/// Returns the error for a rank of the call that has died (according to its host), or that the wire
/// has lost although its process is alive or invisible.
[[nodiscard]] et_schema::Error lost_rank_error(const LateCall& late, int world_rank,
                                               Processes::State process);

/// Returns the error that names which rank waits for which, from the others' answers.
[[nodiscard]] et_schema::Error late_call_error(const LateCall& late,
                                               const std::vector<Heard>& heard);

}  // namespace understudy::backends
