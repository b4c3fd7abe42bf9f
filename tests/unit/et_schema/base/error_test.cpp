#include "et_schema/base/error.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

Error full_error() {
  return bad_input("a sentence", {.file = "a.json",
                                  .rank = 3,
                                  .node = 17,
                                  .field = "inputs.values",
                                  .expected = "an integer",
                                  .got = "\"x\"",
                                  .hint = "look"});
}

TEST(Error, TextHasALineForEachField) {
  EXPECT_EQ(to_text(full_error()),
            "a sentence\n"
            "  file:     a.json\n"
            "  rank:     3\n"
            "  node:     17\n"
            "  field:    inputs.values\n"
            "  expected: an integer\n"
            "  got:      \"x\"\n"
            "  hint:     look");
  EXPECT_EQ(std::string(full_error().what()), to_text(full_error()));
}

TEST(Error, TextCannotSteerATerminalNorLookLikeAnotherField) {
  EXPECT_EQ(to_text(bad_input("a\x1b[2J", {.file = "b\u202e", .got = "x\n  hint:     y\xff"})),
            "a\\u001b[2J\n"
            "  file:     b\\u202e\n"
            "  got:      x\n"
            "              hint:     y\\xff");
}

TEST(Error, TextLeavesOutWhatIsNotKnown) {
  EXPECT_EQ(to_text(run_failed("a sentence", {})), "a sentence");
}

TEST(Error, JsonIsOneLineWithEveryKey) {
  EXPECT_EQ(to_json(full_error()),
            R"({"error":{"summary":"a sentence","file":"a.json","rank":3,"node":17,)"
            R"("field":"inputs.values","expected":"an integer","got":"\"x\"","hint":"look"}})");
  EXPECT_EQ(to_json(usage_error("no", {})),
            R"({"error":{"summary":"no","file":"","rank":null,"node":null,"field":"",)"
            R"("expected":"","got":"","hint":""}})");
}

TEST(Error, JsonOfBytesThatAreNoTextIsStillJson) {
  EXPECT_NE(to_json(usage_error("a\xff", {})).find("a\xef\xbf\xbd"), std::string::npos);
}

TEST(Error, FileAndRankAreFilledInOnlyWhereTheyLack) {
  const Error bare = usage_error("no", {});
  EXPECT_EQ(bare.with_file("f").context().file, "f");
  EXPECT_EQ(bare.with_rank(2).context().rank, 2);
  EXPECT_EQ(bare.with_rank(2).kind(), ErrorKind::kUsage);
  EXPECT_EQ(full_error().with_file("f").context().file, "a.json");
  EXPECT_EQ(full_error().with_rank(2).context().rank, 3);
}

TEST(Error, KindsAreExitStatuses) {
  EXPECT_EQ(static_cast<int>(run_failed("", {}).kind()), 1);
  EXPECT_EQ(static_cast<int>(usage_error("", {}).kind()), 2);
  EXPECT_EQ(static_cast<int>(bad_input("", {}).kind()), 65);
}

}  // namespace
}  // namespace understudy::et_schema
