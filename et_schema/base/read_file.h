#pragma once

#include <string>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

/// Throws Error (bad input) if a path has control characters, since reports name sources by their
/// paths.
void check_file_name(const std::string& path);

/// The bytes of a file. Throws Error: bad input if it cannot be read or is larger than an input may
/// be, failed if it is larger than what may be in memory.
[[nodiscard]] std::string read_file(const std::string& path, const ReadLimits& limits);

}  // namespace understudy::et_schema
