#pragma once

#include <optional>
#include <string>

#include "generator/link/link.h"

namespace understudy::generator {

/// The link of a trace that holds its own times (Trace::own_times); nothing if it holds none. If it
/// has no start times, the nodes follow each other without gaps. Throws Error (usage): no
/// such step.
[[nodiscard]] std::optional<Link> link_own_times(const et_schema::Trace& trace,
                                                 const std::optional<std::string>& step = {});

}  // namespace understudy::generator
