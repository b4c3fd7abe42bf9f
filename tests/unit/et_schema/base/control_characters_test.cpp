#include "et_schema/base/control_characters.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(ControlCharacters, AreThoseThatATerminalObeysOrThatHideText) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text = "abcdefgh" + std::string(1, static_cast<char>(byte)) + "ijklmnopqr";
    EXPECT_EQ(has_control_characters(text), byte < 0x20 || byte == 0x7f) << byte;
  }
  for (const char* text : {"\u0080", "\u009b", "\u009f", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_TRUE(has_control_characters(text)) << text;
    EXPECT_TRUE(has_control_characters(std::string("12345678") + text)) << text;
  }
  for (const char* text : {"", "größer", "\u00a0", "\u2029", "\u202f", "\u2065", "\u206a", "…",
                           "\U0001f600", "aten::add.Tensor(Tensor self) -> Tensor"}) {
    EXPECT_FALSE(has_control_characters(text)) << text;
    EXPECT_EQ(escape_control_characters(text), text);
  }
}

TEST(ControlCharacters, BytesThatAreNoUtf8) {
  for (const char* text :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    EXPECT_TRUE(has_control_characters(text));
  }
  EXPECT_EQ(escape_control_characters("ä\xff\xc3"), "ä\\xff\\xc3");
}

TEST(ControlCharacters, AreEscapedAsInJsonUnlessKept) {
  EXPECT_EQ(escape_control_characters("a\x1b[1m\nb\tc\u009b\u202e\x7f"),
            "a\\u001b[1m\\u000ab\\u0009c\\u009b\\u202e\\u007f");
  EXPECT_EQ(escape_control_characters("a\x1b[1m\nb\tc", "\n\t"), "a\\u001b[1m\nb\tc");
  EXPECT_EQ(escape_control_characters(std::string("a\0b", 3), "\n\t"), "a\\u0000b");
}

}  // namespace
}  // namespace understudy::et_schema
