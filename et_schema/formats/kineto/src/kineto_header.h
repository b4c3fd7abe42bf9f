#pragma once

#include <simdjson.h>

#include <vector>

#include "et_schema/kineto/kineto.h"

namespace understudy::et_schema {

/// The parts of a Kineto file around its events. Fields that are absent or of another type keep
/// their defaults: nothing depends on them alone.
[[nodiscard]] std::vector<KinetoDevice> read_devices(simdjson::dom::element list);
[[nodiscard]] DistributedInfo read_distributed(simdjson::dom::element value);

}  // namespace understudy::et_schema
