#pragma once

#include <optional>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::composer {

/// What is known of the times of a composed step of `length_ns`: nothing where an instruction has
/// none. `origins`: the profiles of its sources.
[[nodiscard]] std::optional<et_schema::RecordedProfile> compose_profile(
    const et_schema::Program& program, const std::vector<const et_schema::Program*>& origins,
    std::int64_t length_ns);

}  // namespace understudy::composer
