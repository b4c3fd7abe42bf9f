#pragma once

#include <optional>
#include <string>

#include "generator/link/link.h"

namespace understudy::generator {

/// The link of a trace that holds its times itself (Trace::own_times); nothing where it holds none.
/// Where it has no start times, nodes are taken to follow each other without gaps. Throws Error
/// (usage): no such step.
[[nodiscard]] std::optional<Link> link_own_times(const et_schema::Trace& trace,
                                                 const std::optional<std::string>& step = {});

}  // namespace understudy::generator
