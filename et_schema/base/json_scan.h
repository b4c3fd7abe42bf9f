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

/// Finds the end of an object or array by its brackets alone and skips strings; `json[begin]` is
/// the opening bracket. Nothing else is validated. With `depth` > 0 the scan begins inside that
/// many open brackets, outside of a string. The time is linear; it takes no memory.
[[nodiscard]] ScanResult scan_brackets(std::string_view json, std::size_t begin,
                                       std::size_t depth = 0);

/// The first quote or backslash at or after `begin`; with `or_control` also the first character
/// that JSON allows in no string. json.size() if there is none.
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

/// The position of the quote that ends the string whose first character is at `begin`, or npos.
[[nodiscard]] std::size_t find_string_end(std::string_view json, std::size_t begin);

/// The first position at or after `begin` that is no JSON white space; json.size() if there is
/// none.
[[nodiscard]] std::size_t skip_space(std::string_view json, std::size_t begin);

/// The first position that is neither a byte order mark nor white space.
[[nodiscard]] std::size_t find_json_start(std::string_view text);

/// The bad input of brackets nested deeper than kMaxJsonDepth.
[[nodiscard]] Error too_deep();

}  // namespace understudy::et_schema
