#pragma once

#include <simdjson.h>

#include <optional>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// Read the parts of a Kineto file around its events. Fields that are missing or of another type
/// keep their defaults, since nothing depends on them alone. `losses` counts escaped names.
[[nodiscard]] std::vector<KinetoDevice> read_devices(simdjson::dom::element list, Losses& losses);
[[nodiscard]] DistributedInfo read_distributed(simdjson::dom::element value, Losses& losses);

/// Returns rank, world size and groups as the calls of a profile tell them; nothing if they
/// contradict or tell no rank. The world has at least as many ranks as any call's group shows.
[[nodiscard]] std::optional<DistributedInfo> distributed_of_calls(const Profile& profile);

}  // namespace understudy::et_schema
