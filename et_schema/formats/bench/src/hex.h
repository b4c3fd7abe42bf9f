#pragma once

#include <span>
#include <string>
#include <string_view>

namespace understudy::et_schema {

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);

/// Whether the text is two hexadecimal digits a byte, and nothing else; fills `bytes` if so.
[[nodiscard]] bool from_hex(std::string_view text, std::span<unsigned char> bytes);

}  // namespace understudy::et_schema
