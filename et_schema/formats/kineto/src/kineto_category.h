#pragma once

#include <string_view>

#include "et_schema/kineto/kineto.h"

namespace understudy::et_schema {

/// The category that an event's "cat" means. Other accelerators have their own words for the same
/// things: "xpu_runtime", "gcu_memcpy", "mtia_ccp_events" (libkineto, ActivityType.cpp).
[[nodiscard]] KinetoCategory category_of(std::string_view text);

/// True of categories that never hold work of an operator, though they may name a device: marks,
/// counters, spans of a stream.
[[nodiscard]] bool is_beside_work(std::string_view text);

}  // namespace understudy::et_schema
