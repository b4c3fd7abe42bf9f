#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/model/reuse.h"

namespace understudy::et_schema {

inline constexpr int kIndexUsesVersion = 1;

/// Reads what scripts/capture wrote about index values (rank-R.indices.json, uncompressed). `file`
/// names it in errors. Throws Error (bad input): not JSON, another format or version, a field
/// that is missing or of another type, a reuse that no draws can have.
[[nodiscard]] IndexUses parse_index_uses(std::string_view json, const std::string& file);

/// The common beginning of the names of a trace and of the file about its index values:
/// "a/rank-0.et.json.gz" and "a/rank-0.indices.json.gz" give "a/rank-0". Nothing for the name of
/// another file.
[[nodiscard]] std::optional<std::string> stem_of_index_uses(std::string_view file);
[[nodiscard]] std::string stem_of_trace(std::string_view file);

}  // namespace understudy::et_schema
