#pragma once

#include <string>

#include "cli/common/command_line.h"

namespace understudy::cli {

void add_names_option(CommandLine& line, std::string& path);

/// Returns a report of an obfuscated benchmark with the original's names, which the file holds that
/// `generate --obfuscate` wrote beside the benchmark. An empty path changes nothing.
[[nodiscard]] std::string with_own_names(std::string report, const std::string& path);

}  // namespace understudy::cli
