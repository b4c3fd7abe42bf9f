#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// SHA-256 of the bytes, as 64 hexadecimal digits. For bytes that a stranger may have chosen:
/// nobody finds two texts of one digest.
[[nodiscard]] std::string digest_of(std::string_view bytes);

/// The same of a file, read in pieces. Throws Error (bad input) if it cannot be read.
[[nodiscard]] std::string digest_of_file(const std::string& path);

/// True for 64 hexadecimal digits in lower case.
[[nodiscard]] bool is_digest(std::string_view text);

/// HMAC-SHA-256 of the text, as 64 hexadecimal digits: only who knows the key can make it.
[[nodiscard]] std::string keyed_digest(std::string_view key, std::string_view text);

/// 64 hexadecimal digits that nobody can guess.
[[nodiscard]] std::string random_digits();

}  // namespace understudy::et_schema
