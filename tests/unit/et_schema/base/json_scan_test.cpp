#include "et_schema/base/json_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace understudy::et_schema {
namespace {

/// What scan_brackets() must give, one character at a time. A backslash, which has no place outside
/// of strings, takes a quote's meaning there as well.
ScanResult plain_scan(std::string_view json, std::size_t begin) {
  std::size_t depth = 0;
  bool in_string = false;
  bool is_escaped = false;
  for (std::size_t i = begin; i < json.size(); ++i) {
    const char c = json[i];
    const bool was_escaped = std::exchange(is_escaped, !is_escaped && c == '\\');
    if (c == '"' && !was_escaped) {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      if (++depth > kMaxJsonDepth) {
        return {ScanStatus::kTooDeep, i};
      }
    } else if (!in_string && (c == '}' || c == ']') && --depth == 0) {
      return {ScanStatus::kComplete, i + 1};
    }
  }
  return {ScanStatus::kCutOff, json.size()};
}

TEST(ScanBrackets, AgreesWithAPlainScanOnRandomTexts) {
  const std::string letters = "{}[]\"\\ab ,";
  std::uint64_t state = 1;
  for (std::size_t round = 0; round < 20000; ++round) {
    std::string text = "{";
    const std::size_t length = round % 300;
    for (std::size_t i = 0; i < length; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += letters[(state >> 33U) % letters.size()];
    }
    const ScanResult expected = plain_scan(text, 0);
    const ScanResult got = scan_brackets(text, 0);
    ASSERT_EQ(got.status, expected.status) << text;
    ASSERT_EQ(got.end, expected.end) << text;
  }
}

TEST(ScanBrackets, BracketsInStringsDoNotCount) {
  const std::string text = R"({"a": "}]\"}", "b": [1]} tail)";
  const ScanResult result = scan_brackets(text, 0);
  EXPECT_EQ(result.status, ScanStatus::kComplete);
  EXPECT_EQ(text.substr(result.end), " tail");
}

TEST(ScanBrackets, BackslashAtTheEndOfABlockEscapesIntoTheNext) {
  for (std::size_t before = 50; before < 70; ++before) {
    const std::string text = "{\"" + std::string(before, 'x') + "\\\"}\"}";
    EXPECT_EQ(scan_brackets(text, 0).end, text.size()) << before;
  }
}

TEST(ScanBrackets, DeepNestingStopsAtOnce) {
  const std::string text(std::size_t{1} << 20U, '[');
  const ScanResult result = scan_brackets(text, 0);
  EXPECT_EQ(result.status, ScanStatus::kTooDeep);
  EXPECT_EQ(result.end, kMaxJsonDepth);
}

TEST(ScanBrackets, StartsInsideOfOpenBrackets) {
  EXPECT_EQ(scan_brackets(R"(, "b": [2]} x)", 0, 1).end, 11U);
}

TEST(FindStringEnd, PassesEscapes) {
  EXPECT_EQ(find_string_end(R"(ab\"c\\" x)", 0), 7U);
  EXPECT_EQ(find_string_end("abc\\", 0), std::string_view::npos);
}

}  // namespace
}  // namespace understudy::et_schema
