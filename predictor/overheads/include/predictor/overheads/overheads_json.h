#pragma once

#include <string>
#include <vector>

#include "predictor/overheads/overheads.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// The section `overheads` of a platform file (docs/formats.md): one JSON object, hosts by name.
[[nodiscard]] std::string to_json(const std::vector<HostOverheads>& hosts);
/// Reads it back. Throws Error (bad input) with the field.
[[nodiscard]] std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
