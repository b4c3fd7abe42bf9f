#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace understudy::fleet {

/// XXH3 of 128 bits, as 32 hexadecimal digits. It tells chance apart, not an attacker.
[[nodiscard]] std::string digest_of(std::string_view bytes);

/// The same of a file, read in pieces. Throws Error (bad input) if it cannot be read.
[[nodiscard]] std::string digest_of_file(const std::string& path);

/// True for 32 hexadecimal digits in lower case.
[[nodiscard]] bool is_digest(std::string_view text);

}  // namespace understudy::fleet
