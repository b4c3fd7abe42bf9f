#pragma once

#include <cstdint>
#include <vector>

#include "plan.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// The channel of a call of a rank class, and the call's number in it.
struct ChannelCall {
  std::uint32_t channel = 0;
  std::uint32_t number = 0;  ///< in one iteration
  bool is_detached = false;  ///< a send whose data is kept apart: its rank need not wait
};

/// The ranks that take part in the calls of one group, or a sender and its receiver.
struct Channel {
  et_schema::GroupId group = 0;
  std::vector<std::uint32_t> members;      ///< classes
  std::vector<std::int64_t> durations_ns;  ///< by call of an iteration
};

struct Channels {
  std::vector<Channel> channels;
  std::vector<std::vector<ChannelCall>> calls;  ///< by class and call
};

/// Finds which ranks take part in which calls. Queries `costs` once for each call and stores the
/// results in `played`. Throws Error (bad input) if members make different numbers of calls.
[[nodiscard]] Channels find_channels(const Job& job, const std::vector<RankClass>& classes,
                                     const std::vector<ProgramPlan>& plans, const Costs& costs,
                                     std::vector<std::vector<PlayedCost>>& played);

/// Returns the query to `costs` for a call of several ranks; `sides` must be in group order.
[[nodiscard]] GroupComm comm_call(const Job& job, et_schema::GroupId group,
                                  const std::vector<int>& ranks,
                                  const std::vector<const Program*>& programs,
                                  std::vector<const Instruction*> sides);

}  // namespace understudy::predictor
