#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Returns the SHA-256 of the bytes as 64 hexadecimal digits. Safe for untrusted bytes: nobody can
/// construct two texts with the same digest.
[[nodiscard]] std::string digest_of(std::string_view bytes);

/// Returns the digest of a file. Throws Error (bad input) if it cannot be read.
[[nodiscard]] std::string digest_of_file(const std::string& path);

/// Returns the HMAC-SHA-256 of the text as 64 hexadecimal digits. It cannot be computed
/// without the key.
[[nodiscard]] std::string keyed_digest(std::string_view key, std::string_view text);

/// Returns 64 random hexadecimal digits that cannot be predicted.
[[nodiscard]] std::string random_digits();

}  // namespace understudy::et_schema
