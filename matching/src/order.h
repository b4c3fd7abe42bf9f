#pragma once

#include <vector>

#include "matching/matching.h"

namespace understudy::matching {

/// The calls of different ranks that are one communication: those of a collective on all its ranks,
/// or a send and its receive.
struct Meeting {
  struct Side {
    int rank = 0;
    std::uint32_t call = 0;
  };
  std::vector<Side> sides;
};

/// By rank: an order in which communications can complete one at a time, if each rank takes part in
/// those that it has started. It is the programs' own order unless that leads into a circle. Throws
/// Error (bad input) if the ranks cannot get through their calls at all. `meetings` hold each call
/// exactly once. The time is linear in the calls, plus ranks times circles.
[[nodiscard]] std::vector<et_schema::CommOrder> find_order(
    const std::vector<RankComms>& ranks, const std::vector<Meeting>& meetings,
    const std::vector<et_schema::ProcessGroup>& groups);

}  // namespace understudy::matching
