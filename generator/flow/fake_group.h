#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns true for the groups of a rank or a job under torch's fake process group: the other ranks
/// were not there.
[[nodiscard]] inline bool is_of_fake_group(const std::vector<et_schema::ProcessGroup>& groups) {
  return std::ranges::any_of(groups, [](const et_schema::ProcessGroup& group) {
    return group.backend.find(":fake") != std::string::npos;
  });
}

}  // namespace understudy::generator
