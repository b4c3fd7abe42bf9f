#pragma once

#include <string>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

/// Throws Error (bad input) if a path has control characters, since reports name sources by their
/// paths.
void check_file_name(const std::string& path);

/// Returns the bytes of a file. Throws Error: bad input if it cannot be read or exceeds
/// max_file_bytes, failed if it exceeds max_held_bytes.
[[nodiscard]] std::string read_file(const std::string& path, const ReadLimits& limits);

}  // namespace understudy::et_schema
