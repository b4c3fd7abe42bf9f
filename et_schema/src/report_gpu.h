#pragma once

#include <nlohmann/json.hpp>

#include "et_schema/gpu_use.h"
#include "json_fields.h"

namespace understudy::et_schema {

/// The report's key `gpu`.
[[nodiscard]] nlohmann::ordered_json gpu_json(const GpuUse& gpu);
/// Throws Error (bad input) as JsonField does.
[[nodiscard]] GpuUse read_gpu(const JsonField& field);

}  // namespace understudy::et_schema
