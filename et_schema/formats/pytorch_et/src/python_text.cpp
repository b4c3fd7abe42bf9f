#include "python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/json_scan.h"
#include "et_schema/base/json_text.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/json_pull.h"

namespace understudy::et_schema {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.' || c == '_';
}

void append_utf8(std::string& out, std::uint32_t code) {
  const std::string json =
      code < 0x10000
          ? fmt::format("\"\\u{:04x}\"", code)
          : fmt::format("\"\\u{:04x}\\u{:04x}\"", 0xd7c0 + (code >> 10U), 0xdc00 + (code & 0x3ffU));
  std::string unescaped;
  std::string_view text;
  static_cast<void>(JsonPull(json).take(text, unescaped));
  out += text;
}

class Translator {
 public:
  Translator(std::string& out, std::string_view python) : out_(out), python_(python) {}

  void translate() {
    while (position_ < python_.size()) {
      const char c = python_[position_];
      if (c == '\'' || c == '"') {
        take_text(c);
      } else if (is_word(c)) {
        take_word();
      } else {
        take_mark(c);
      }
    }
  }

 private:
  [[noreturn]] void fail(std::string expected) const {
    throw bad_input(
        "a list in the form of Python's text is damaged",
        {.expected = std::move(expected),
         .got = fmt::format("{} at character {}",
                            position_ < python_.size()
                                ? fmt::format("\"{}\"", quote(python_.substr(position_)))
                                : std::string("its end"),
                            position_)});
  }

  /// Converts a tuple to a list. Python writes a comma after the only element of a tuple.
  void take_mark(char c) {
    if (c == '(' || c == '[') {
      out_ += '[';
      if (++depth_ > kMaxJsonDepth) {
        fail(fmt::format("at most {} brackets inside each other", kMaxJsonDepth));
      }
    } else if (c == ')' || c == ']') {
      depth_ -= std::min<std::size_t>(depth_, 1);
      if (out_.ends_with(',')) {
        out_.pop_back();
      }
      out_ += ']';
    } else if (c == ',') {
      out_ += c;
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      fail("brackets, commas, texts and numbers");
    }
    ++position_;
  }

  void take_word() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {
        {{"True", "true"},
         {"False", "false"},
         {"None", "null"},
         {"inf", "\"inf\""},
         {"-inf", "\"-inf\""},
         {"nan", "\"nan\""}}};
    const std::size_t begin = position_;
    while (position_ < python_.size() && is_word(python_[position_])) {
      ++position_;
    }
    const std::string_view word = python_.substr(begin, position_ - begin);
    for (const auto& [python, json] : kWords) {
      if (word == python) {
        out_ += json;
        return;
      }
    }
    if (word.front() != '-' && (word.front() < '0' || word.front() > '9')) {
      position_ = begin;
      fail("a number, True, False or None");
    }
    out_ += word;
  }

  void take_text(char quote_mark) {
    text_.clear();
    ++position_;
    while (true) {
      const std::size_t end = std::min(
          python_.find_first_of(quote_mark == '"' ? "\"\\" : "'\\", position_), python_.size());
      text_ += python_.substr(position_, end - position_);
      position_ = end;
      if (position_ >= python_.size()) {
        fail("the end of a text");
      }
      if (python_[position_] == quote_mark) {
        ++position_;
        break;
      }
      take_escape();
    }
    append_json_string(out_, text_);
  }

  void take_escape() {
    ++position_;
    const char c = position_ < python_.size() ? python_[position_++] : '\0';
    switch (c) {
      case 'n':
        text_ += '\n';
        return;
      case 't':
        text_ += '\t';
        return;
      case 'r':
        text_ += '\r';
        return;
      case 'x':
        take_code(2);
        return;
      case 'u':
        take_code(4);
        return;
      case 'U':
        take_code(8);
        return;
      case '\\':
      case '\'':
      case '"':
        text_ += c;
        return;
      default:
        --position_;
        fail("an escape as Python writes them");
    }
  }

  void take_code(std::size_t digits) {
    constexpr std::uint32_t kLastCode = 0x10ffff;
    const std::string_view hex = python_.substr(std::min(position_, python_.size()), digits);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (hex.size() != digits || error != std::errc() || end != hex.data() + hex.size() ||
        code > kLastCode || is_surrogate) {
      fail(fmt::format("{} hexadecimal digits of a character", digits));
    }
    append_utf8(text_, code);
    position_ += digits;
  }

  std::string& out_;
  std::string_view python_;
  std::size_t position_ = 0;
  std::size_t depth_ = 0;
  std::string text_;
};

}  // namespace

void append_json_of_python(std::string& out, std::string_view python) {
  Translator(out, python).translate();
}

}  // namespace understudy::et_schema
