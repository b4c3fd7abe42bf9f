#pragma once

#include <cstdint>
#include <string>

namespace understudy::et_schema {

/// The bytes of a file. Throws Error (bad input) if it cannot be read or is larger than
/// `max_bytes`.
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t max_bytes);

}  // namespace understudy::et_schema
