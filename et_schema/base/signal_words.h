#pragma once

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

// Messages of signal handlers: uses only async-signal-safe calls.

/// A number as text.
class NumberText {
 public:
  explicit NumberText(std::uint64_t number) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr;
    length_ = static_cast<std::size_t>(end - digits_.data());
  }
  [[nodiscard]] std::string_view text() const { return {digits_.data(), length_}; }

 private:
  std::array<char, 20> digits_{};  // enough for 2^64
  std::size_t length_ = 0;
};

/// Writes to standard error, and ignores failures.
inline void say(std::string_view words) {
  while (!words.empty()) {
    const ssize_t written = write(STDERR_FILENO, words.data(), words.size());
    if (written <= 0) {
      return;
    }
    words.remove_prefix(static_cast<std::size_t>(written));
  }
}

inline void say(std::uint64_t number) {
  say(NumberText(number).text());
}

}  // namespace understudy::et_schema
