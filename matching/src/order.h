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

/// By rank: an order in which communications can complete one at a time, each rank taking part in
/// those that it has started. It is the programs' own order wherever that leads into no circle.
/// Throws Error (bad input) if the ranks cannot get through their calls at all. `meetings` hold
/// each call exactly once. Linear in the calls, but for ranks times circles.
[[nodiscard]] std::vector<et_schema::CommOrder> find_order(
    const std::vector<RankComms>& ranks, const std::vector<Meeting>& meetings,
    const std::vector<et_schema::ProcessGroup>& groups);

}  // namespace understudy::matching
