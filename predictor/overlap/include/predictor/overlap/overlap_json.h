#pragma once

#include <string>
#include <vector>

#include "predictor/overlap/overlap.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// The section `overlap` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const std::vector<DeviceOverlap>& devices);
/// Reads it back. Throws Error (bad input) with the field: a factor that is no number from 1 to
/// kMostOverlapFactor or lies outside of its interval, a device that occurs twice or has no factor.
[[nodiscard]] std::vector<DeviceOverlap> overlap_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
