#include "line_loops.h"

#include <gtest/gtest.h>

#include "et_schema/support/error.h"

namespace understudy::et_schema {
namespace {

std::string unfold(const std::string& text, std::uint64_t most = kMostUnfoldedBytes) {
  return unfold_lines(text, "b.et/programs/0.jsonl", most);
}

std::string loop_refusal(const std::string& text, std::uint64_t most = kMostUnfoldedBytes) {
  try {
    return unfold(text, most);
  } catch (const Error& error) {
    return to_text(error) + "\n";
  }
}

TEST(LineLoops, NumbersThatGrowEvenlyAreWrittenOnce) {
  const std::string text =
      "{\"n\":9}\n"
      "{\"i\":0,\"args\":[\"%1\",\"%7\"]}\n{\"i\":1,\"args\":[\"%2\",\"%5\"]}\n"
      "{\"i\":2,\"args\":[\"%3\",\"%7\"]}\n{\"i\":3,\"args\":[\"%4\",\"%5\"]}\n"
      "{\"i\":4,\"args\":[\"%5\",\"%7\"]}\n{\"i\":5,\"args\":[\"%6\",\"%5\"]}\n"
      "{\"end\":1}\n";
  const std::string folded = fold_lines(text);
  EXPECT_EQ(folded,
            "{\"n\":9}\n"
            "{\"loop\":3,\"lines\":2,\"steps\":[[0,2,1,2],[0,2,1,2]]}\n"
            "{\"i\":0,\"args\":[\"%1\",\"%7\"]}\n{\"i\":1,\"args\":[\"%2\",\"%5\"]}\n"
            "{\"end\":1}\n");
  EXPECT_EQ(unfold(folded), text);
}

TEST(LineLoops, NothingElseIsFolded) {
  // Loops hold no numbers that grow unevenly, no fractions, and no digits of words.
  const std::string uneven = "{\"a\":1}\n{\"a\":2}\n{\"a\":4}\n{\"a\":9}\n{\"a\":10}\n{\"a\":1}\n";
  EXPECT_EQ(unfold(fold_lines(uneven)), uneven);
  const std::string fractions = "{\"a\":0.1}\n{\"a\":0.2}\n{\"a\":0.3}\n";
  EXPECT_EQ(fold_lines(fractions), fractions);
  const std::string words = "{\"a\":\"x1\"}\n{\"a\":\"x2\"}\n{\"a\":\"x3\"}\n";
  EXPECT_EQ(fold_lines(words), words);
  const std::string large = "{\"a\":18446744073709551615}\n{\"a\":18446744073709551616}\n";
  EXPECT_EQ(unfold(fold_lines(large + large + large)), large + large + large);
}

TEST(LineLoops, NumbersMayFall) {
  std::string text;
  for (int i = 9; i > 0; --i) {
    text += "{\"a\":" + std::to_string(i) + "}\n";
  }
  EXPECT_EQ(fold_lines(text), "{\"loop\":9,\"lines\":1,\"steps\":[[0,-1]]}\n{\"a\":9}\n");
  EXPECT_EQ(unfold(fold_lines(text)), text);
}

TEST(LineLoops, AnyTextComesBack) {
  std::uint64_t state = 1;
  const auto below = [&state](std::uint64_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % bound;
  };
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const std::uint64_t lines = below(60);
    for (std::uint64_t i = 0; i < lines; ++i) {
      const std::string key(1, static_cast<char>('a' + below(3)));
      text += "{\"" + key + "\":" + std::to_string(i * below(3) + below(2)) + "}\n";
    }
    ASSERT_EQ(unfold(fold_lines(text)), text) << fold_lines(text);
  }
}

TEST(LineLoops, DamageIsRefusedWithItsLine) {
  const std::string end = "  hint:     make the benchmark again with `generate`\n";
  const std::string start =
      "the program in the benchmark is damaged\n  file:     b.et/programs/0.jsonl\n  field:    "
      "line ";
  EXPECT_EQ(loop_refusal("{}\n{\"loop\":2,\"lines\":3,\"steps\":[[],[],[]]}\n{}\n"),
            start + "3\n  expected: 3 lines in the loop\n  got:      the end of the file\n" + end);
  EXPECT_EQ(loop_refusal("{\"loop\":2,\"lines\":1,\"steps\":[[0,-2]]}\n{\"a\":1}\n"),
            start +
                "2\n  expected: numbers from 0 to 2^63 - 1 in each repetition\n"
                "  got:      {\"a\":1}\n" +
                end);
  EXPECT_EQ(loop_refusal("{\"loop\":2,\"lines\":1,\"steps\":[[3,1]]}\n{\"a\":1}\n"),
            start +
                "2\n  expected: steps of numbers that the line has, ascending\n"
                "  got:      {\"a\":1}\n" +
                end);
  EXPECT_EQ(loop_refusal("{\"loop\":0,\"lines\":1,\"steps\":[[]]}\n{\"a\":1}\n"),
            start +
                "1\n  expected: a loop of one line or more with a list of steps for each\n"
                "  got:      {\"loop\":0,\"lines\":1,\"steps\":[[]]}\n" +
                end);
  EXPECT_EQ(loop_refusal("{\"loop\":2,\"lines\":1,\"steps\":[[]]}\n{\"loop\":2,\"lines\":1}\n"),
            start + "2\n  expected: a line\n  got:      a loop in a loop\n" + end);
  EXPECT_EQ(loop_refusal("{\"loop\":1000000000000,\"lines\":1,\"steps\":[[]]}\n{\"a\":1}\n", 100),
            start + "2\n  expected: loops of at most 100 bytes in all\n  got:      more\n" + end);
}

}  // namespace
}  // namespace understudy::et_schema
