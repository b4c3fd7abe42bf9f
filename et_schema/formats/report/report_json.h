#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// The JSON of the contract in docs/formats.md. A figure that is not finite is null.
[[nodiscard]] nlohmann::ordered_json json_of(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);
/// Reads what to_json wrote. Throws Error (bad input): not JSON, another format or version, a
/// field missing.
[[nodiscard]] Report parse_report(const std::string& json, const std::string& file);
/// Returns true if a file that begins like this is a report.
[[nodiscard]] bool starts_as_report(std::string_view head);
/// Environment::backend of a rank that ran alone as if the others took part in its communications.
inline constexpr const char* kSimulatedComms = "simulated";

/// One rank's part alone, to ship between processes.
[[nodiscard]] std::string to_json(const RankReport& report);
[[nodiscard]] RankReport parse_rank_report(const std::string& json, const std::string& file);

}  // namespace understudy::et_schema
