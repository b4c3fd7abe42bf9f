#pragma once

#include "et_schema/model/program.h"
#include "et_schema/support/json_record.h"

namespace understudy::et_schema {

/// A rank's `profile` in manifest.json. Reading throws Error (bad input): a field that is missing
/// or out of range.
[[nodiscard]] nlohmann::ordered_json json_value(const RecordedProfile& profile);
void read_value(const JsonField& field, RecordedProfile& profile);

}  // namespace understudy::et_schema
