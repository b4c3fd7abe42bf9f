#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// Returns the JSON described in docs/formats.md. A figure that is not finite is null.
[[nodiscard]] nlohmann::ordered_json json_of(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);
/// Parses the result of to_json(). Throws Error (bad input) if the text is not JSON, has another
/// format or version, or a field is missing.
[[nodiscard]] Report parse_report(const std::string& json, const std::string& file);
/// Bytes at the start of a report that name its format.
inline constexpr std::size_t kReportHeadBytes = 4096;
/// Returns true if a file that begins like this is a report.
[[nodiscard]] bool starts_as_report(std::string_view head);

/// Returns the JSON of one rank's part, to be sent between processes.
[[nodiscard]] std::string to_json(const RankReport& report);
[[nodiscard]] RankReport parse_rank_report(const std::string& json, const std::string& file);

}  // namespace understudy::et_schema
