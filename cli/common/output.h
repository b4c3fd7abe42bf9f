#pragma once

#include <cstdint>
#include <string_view>

namespace understudy::cli {

/// Writes a program's result to standard output and flushes it. Escapes control characters other
/// than line ends and tabs. Throws et_schema::cannot_write() if not all of it could be written.
void print_output(std::string_view output);

/// How a program prints its result.
enum class Format : std::uint8_t { kText, kJson, kCsv, kHtml };

}  // namespace understudy::cli
