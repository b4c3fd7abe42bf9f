#include "et_schema/base/control_characters.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

namespace understudy::et_schema {
namespace {

/// Returns true if all eight bytes are from U+0020 to U+007E, as in most names.
bool is_printable_ascii(const char* bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kEach;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  const std::uint64_t below_space = word - 0x20 * kEach;
  const std::uint64_t delete_or_above = word + kEach;
  return ((word | below_space | delete_or_above) & kHigh) == 0;
}

}  // namespace

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&character](std::size_t i) {
    return static_cast<unsigned char>(character[i]);
  };
  constexpr unsigned kBitsOfContinuation = 6;
  const std::size_t length = character.size();
  std::uint32_t code = length == 1 ? byte(0) : byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    code = (code << kBitsOfContinuation) | (byte(i) & 0x3fU);
  }
  return code;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
    return 0;
  }
  // The second byte's range excludes overlong forms, surrogates and code points beyond U+10FFFF.
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) {
      return 0;
    }
  }
  return length;
}

bool is_control_character(std::string_view character) {
  const std::uint32_t code = code_point(character);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool has_control_characters(std::string_view text) {
  while (!text.empty()) {
    if (text.size() >= sizeof(std::uint64_t) && is_printable_ascii(text.data())) {
      text.remove_prefix(sizeof(std::uint64_t));
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control_character(text.substr(0, length))) {
      return true;
    }
    text.remove_prefix(length);
  }
  return false;
}

std::string escape_control_characters(std::string_view text, std::string_view kept) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length);
    if (length == 0) {
      fmt::format_to(std::back_inserter(escaped), "\\x{:02x}",
                     static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    } else if (is_control_character(character) && kept.find(character) == std::string_view::npos) {
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", code_point(character));
    } else {
      escaped += character;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

}  // namespace understudy::et_schema
