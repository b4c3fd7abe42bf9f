#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Append pieces of JSON to a buffer, the fast way to write files of many lines. Texts must be
/// UTF-8; only the characters that JSON requires are escaped.
void append_json_string(std::string& out, std::string_view text);
void append_json_int(std::string& out, std::int64_t value);
void append_json_uint(std::string& out, std::uint64_t value);
/// Appends the shortest text that reads back as the same double and does not look like an integer
/// ("1.0"). Writes "inf", "-inf" and "nan" as strings, since JSON has no numbers for them.
void append_json_double(std::string& out, double value);
void append_json_ints(std::string& out, std::span<const std::int64_t> values);

}  // namespace understudy::et_schema
