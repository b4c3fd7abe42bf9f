#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

/// Brackets inside each other that a trace may have. Real nodes have 5.
inline constexpr std::size_t kMaxJsonDepth = 64;

enum class ScanStatus : std::uint8_t { kComplete, kCutOff, kTooDeep };

struct ScanResult {
  ScanStatus status = ScanStatus::kCutOff;
  std::size_t end = 0;  ///< one past the closing bracket; where the scan stopped if not complete
};

/// Finds the end of an object or array by its brackets alone, strings skipped: `json[begin]` is the
/// opening bracket. Nothing else is validated. With `depth` > 0 the scan begins inside of that many
/// open brackets, outside of a string. Linear, without memory of its own.
[[nodiscard]] ScanResult scan_brackets(std::string_view json, std::size_t begin,
                                       std::size_t depth = 0);

/// The position of the quote that ends the string whose first character is at `begin`, or npos.
[[nodiscard]] std::size_t find_string_end(std::string_view json, std::size_t begin);

/// The first position at or after `begin` that is no JSON white space; json.size() if there is
/// none.
[[nodiscard]] std::size_t skip_space(std::string_view json, std::size_t begin);

/// The first position that is neither a byte order mark nor white space.
[[nodiscard]] std::size_t find_json_start(std::string_view text);

}  // namespace understudy::et_schema
