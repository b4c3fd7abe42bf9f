#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/communicator.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// A process group of the job. Sends and receives have a channel of their own, so that only the
/// caller uses its tags.
struct Group {
  GroupId id = 0;
  std::string name;
  std::vector<int> ranks;  ///< world ranks in group order
  int rank = -1;           ///< rank of this process in the group; -1: not a member
  Channel collectives = 0;
  Channel messages = 0;

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] bool is_member() const { return rank >= 0; }
  [[nodiscard]] CallPlace place(int world_rank) const {
    return CallPlace{world_rank, name, rank, size()};
  }
};

/// Calls of a rank that are counted together: the collectives of a group, or its messages of one
/// direction with one peer.
struct Line {
  GroupId group = 0;
  et_schema::CommKind kind = et_schema::CommKind::kBarrier;  ///< of all collectives
  std::int32_t peer = 0;                                     ///< rank in the group
  auto operator<=>(const Line&) const = default;
};

/// "allreduce, call 4 of group 'world'", "recv from rank 2, call 1 of group 'pipeline'".
[[nodiscard]] std::string describe(const Call& call, const Group& group, std::uint64_t index);

}  // namespace understudy::backends
