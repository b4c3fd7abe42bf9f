#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "et_schema/base/error.h"

namespace understudy::et_schema {

/// The deepest nesting of brackets that a trace may have. Real nodes have 5.
inline constexpr std::size_t kMaxJsonDepth = 64;

enum class ScanStatus : std::uint8_t { kComplete, kCutOff, kTooDeep };

struct ScanResult {
  ScanStatus status = ScanStatus::kCutOff;
  std::size_t end = 0;  ///< one past the closing bracket; where the scan stopped if not complete
};

/// Finds the end of an object or array by its brackets alone, and skips strings. `json[begin]` must
/// be the opening bracket. Nothing else is validated. If `depth` > 0, the scan begins inside that
/// many open brackets, outside of a string. Takes linear time and allocates no memory.
[[nodiscard]] ScanResult scan_brackets(std::string_view json, std::size_t begin,
                                       std::size_t depth = 0);

/// Returns the position of the first quote or backslash at or after `begin`, or with `or_control`
/// of the first control character, which JSON strings must not have; json.size() if none exists.
template <bool or_control>
[[nodiscard]] inline std::size_t find_mark(std::string_view json, std::size_t begin) {
  constexpr unsigned char kFirstAllowed = 0x20;
  std::size_t position = begin;
#ifdef __SSE2__
  for (; position + sizeof(__m128i) <= json.size(); position += sizeof(__m128i)) {
    __m128i bytes;
    std::memcpy(&bytes, json.data() + position, sizeof(bytes));
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                 _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    if constexpr (or_control) {
      const __m128i last = _mm_set1_epi8(kFirstAllowed - 1);
      marks = _mm_or_si128(marks, _mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes));
    }
    if (const int mask = _mm_movemask_epi8(marks); mask != 0) {
      return position + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(mask)));
    }
  }
#endif
  while (position < json.size() && json[position] != '"' && json[position] != '\\' &&
         !(or_control && static_cast<unsigned char>(json[position]) < kFirstAllowed)) {
    ++position;
  }
  return std::min(position, json.size());
}

/// Returns the position of the quote that ends the string from `begin` on, or npos.
[[nodiscard]] std::size_t find_string_end(std::string_view json, std::size_t begin);

/// Returns the first position at or after `begin` without JSON white space, or json.size().
[[nodiscard]] std::size_t skip_space(std::string_view json, std::size_t begin);

/// Returns the first position after a byte order mark and white space.
[[nodiscard]] std::size_t find_json_start(std::string_view text);

/// Returns the Error (bad input) for brackets nested deeper than kMaxJsonDepth.
[[nodiscard]] Error too_deep();

}  // namespace understudy::et_schema
