#pragma once

#include <algorithm>
#include <string>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns true for a rank that ran under torch's fake process group: the others were not there.
[[nodiscard]] inline bool is_of_fake_group(const et_schema::Trace& trace) {
  return std::ranges::any_of(trace.process_groups, [](const et_schema::ProcessGroup& group) {
    return group.backend.find(":fake") != std::string::npos;
  });
}

}  // namespace understudy::generator
