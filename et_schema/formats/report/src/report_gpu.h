#pragma once

#include <nlohmann/json.hpp>

#include "et_schema/model/gpu_use.h"
#include "et_schema/support/json_fields.h"

namespace understudy::et_schema {

/// The report's key `gpu`.
[[nodiscard]] nlohmann::ordered_json gpu_json(const GpuUse& gpu);
/// Throws Error (bad input) as JsonField does.
[[nodiscard]] GpuUse read_gpu(const JsonField& field);

}  // namespace understudy::et_schema
