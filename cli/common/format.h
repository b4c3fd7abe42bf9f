#pragma once

#include <cstdint>

namespace understudy::cli {

/// How a program prints its result.
enum class Format : std::uint8_t { kText, kJson, kCsv, kHtml };

}  // namespace understudy::cli
