#pragma once

#include <vector>

#include "matching/matching.h"

namespace understudy::matching {

/// Which calls, of which ranks, are one communication: a collective's on all its ranks, a send and
/// its receive.
struct Meeting {
  struct Side {
    int rank = 0;
    std::uint32_t call = 0;
  };
  std::vector<Side> sides;
};

/// Throws Error (bad input) if the ranks cannot get through their calls because some wait for each
/// other in a circle. `meetings` hold each call exactly once.
void check_order(const std::vector<RankComms>& ranks, const std::vector<Meeting>& meetings,
                 const std::vector<et_schema::ProcessGroup>& groups);

}  // namespace understudy::matching
