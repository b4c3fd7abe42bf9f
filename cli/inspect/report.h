#pragma once

#include <string>

#include "common/command_line.h"

namespace understudy::cli {

/// True if the file says in its first lines that it is a report of `replay --report`.
[[nodiscard]] bool is_report_file(const std::string& path);

/// The report in the format asked for, as `replay` prints it. Throws what parse_report() throws.
[[nodiscard]] std::string render_report(const std::string& path, Format format);

}  // namespace understudy::cli
