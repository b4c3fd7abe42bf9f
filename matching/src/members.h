#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/trace.h"

namespace understudy::matching {

/// World ranks of a group in group order; a group without a list is the whole world.
[[nodiscard]] inline std::vector<int> members_of(const et_schema::ProcessGroup& group,
                                                 int world_size) {
  std::vector<int> members;
  if (group.ranks.empty()) {
    members.resize(static_cast<std::size_t>(world_size));
    std::iota(members.begin(), members.end(), 0);
  }
  std::transform(group.ranks.begin(), group.ranks.end(), std::back_inserter(members),
                 [](std::int64_t rank) { return static_cast<int>(rank); });
  return members;
}

}  // namespace understudy::matching
