#pragma once

#include <string>

#include "et_schema/model/program.h"
#include "et_schema/support/json_fields.h"

namespace understudy::et_schema {

/// A rank's `profile` in manifest.json.
void append_profile(std::string& out, const RecordedProfile& profile);

/// Throws Error (bad input): a field that is missing or out of range.
[[nodiscard]] RecordedProfile read_profile(const JsonField& field);

}  // namespace understudy::et_schema
