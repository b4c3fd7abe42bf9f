#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/model/reuse.h"

namespace understudy::et_schema {

inline constexpr int kIndexUsesVersion = 1;

/// Parses a file about index values (rank-R.indices.json of scripts/capture, uncompressed). `file`
/// names it in errors. Throws Error (bad input) if the text is not JSON, has another format or
/// version, a field is missing or has another type, or a reuse is impossible for any draw.
[[nodiscard]] IndexUses parse_index_uses(std::string_view json, const std::string& file);

/// Returns the common stem of the names of a trace and of the file about its index values:
/// "a/rank-0" for "a/rank-0.et.json.gz" and "a/rank-0.indices.json.gz". Nothing for others.
[[nodiscard]] std::optional<std::string> stem_of_index_uses(std::string_view file);
[[nodiscard]] std::string stem_of_trace(std::string_view file);

}  // namespace understudy::et_schema
