#include "et_schema/base/json_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace understudy::et_schema {
namespace {

TEST(ScanBrackets, BracketsInStringsDoNotCount) {
  const std::string text = R"({"a": "}]\"}", "b": [1]} tail)";
  const ScanResult result = scan_brackets(text, 0);
  EXPECT_EQ(result.status, ScanStatus::kComplete);
  EXPECT_EQ(text.substr(result.end), " tail");
}

TEST(ScanBrackets, OpenStringsAndBracketsAreCutOff) {
  for (const char* text : {"{", "[{}", R"({"a)", R"({"a\")", R"({"a": "}")"}) {
    EXPECT_EQ(scan_brackets(text, 0).status, ScanStatus::kCutOff) << text;
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
