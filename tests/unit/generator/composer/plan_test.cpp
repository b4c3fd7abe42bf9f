#include "generator/composer/plan/plan.h"

#include <gtest/gtest.h>

#include "testing/error_text.h"

namespace understudy::composer {
namespace {

constexpr const char* kStart = "sources:\n  a: {path: a.et}\npieces:\n  p: {of: a}\n";

std::string plan_refusal(const std::string& text) {
  return error_of(et_schema::ErrorKind::kBadInput, [&] { return parse_plan(text, "plan.yaml"); }) +
         "\n";
}

TEST(Plan, NamesWithControlCharactersAreRefused) {
  EXPECT_EQ(
      plan_refusal("sources:\n  \"a\\e[2J\": {path: a.et}\npieces:\n  p: {of: a}\nrun: [p]\n"),
      "a text with control characters\n  file:     plan.yaml\n  field:    line 2\n"
      "  expected: a text that a terminal shows as it is\n  got:      a\\u001b[2J\n");
}

TEST(Plan, IsReadWhole) {
  const Plan plan = parse_plan(
      "version: 1\nname: demo\nranks: 2\n"
      "sources:\n  a: {path: a.et, rank: 1}\n  b: {path: traces, step: 7}\n"
      "pieces:\n"
      "  p: {of: a, nodes: 3-9, operators: '^aten::mm$', class: matmul, shape: [2, 3]}\n"
      "  q: {of: b, annotation: layer}\n"
      "run:\n"
      "  - p\n"
      "  - {piece: q, as: second, repeat: 3, tensors: own, ranks: [1]}\n"
      "  - {side_by_side: [p, q]}\n",
      "plan.yaml");
  EXPECT_EQ(plan.ranks, 2);
  EXPECT_EQ(plan.sources[0].rank, 1);
  EXPECT_EQ(plan.sources[1].step, "7");
  EXPECT_EQ(plan.pieces[0].nodes, (std::pair<std::uint64_t, std::uint64_t>{3, 9}));
  EXPECT_EQ(plan.pieces[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(plan.pieces[1].annotation, "layer");
  EXPECT_EQ(plan.pieces[1].line, 9);
  ASSERT_EQ(plan.run.size(), 3U);
  EXPECT_EQ(plan.run[1].repeat, 3);
  EXPECT_TRUE(plan.run[1].own_tensors);
  EXPECT_EQ(plan.run[2].parts.size(), 2U);
}

TEST(Plan, ABenchmarkIsNone) {
  EXPECT_EQ(plan_refusal("PK\x03\x04\x14"),
            "this is no plan\n  file:     plan.yaml\n"
            "  expected: a plan in YAML (docs/compose.md)\n"
            "  got:      a benchmark, or another zip file\n"
            "  hint:     a plan names it among its sources\n");
}

TEST(Plan, RefusalsNameTheLine) {
  EXPECT_EQ(plan_refusal("a: [1, 2\n"),
            "the plan is not YAML\n  file:     plan.yaml\n  field:    line 2\n  expected: YAML\n"
            "  got:      end of sequence flow not found\n");
  EXPECT_EQ(plan_refusal("- a\n"),
            "the plan is no map\n  file:     plan.yaml\n  field:    line 1\n"
            "  expected: sources, pieces and run\n  got:      something else\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run: []\n"),
            "a plan that runs nothing\n  file:     plan.yaml\n  field:    line 5\n"
            "  expected: a piece or more under run\n  got:      none\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - q\n"),
            "a piece that the plan does not have\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: one of p\n  got:      q\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - {piece: p, repaet: 2}\n"),
            "a key of a run that is not known\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: one of piece, side_by_side, as, repeat, tensors, ranks\n"
            "  got:      'repaet'\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - {side_by_side: [p]}\n"),
            "nothing to run beside each other\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: two parts or more\n  got:      1\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - {piece: p, side_by_side: [p, p]}\n"),
            "an entry of run that is not one thing\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: piece or side_by_side\n  got:      both\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - {piece: p, repeat: 0}\n"),
            "a number that does not fit\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: a whole number from 1 to 1000000\n  got:      '0'\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - {piece: p, ranks: [1]}\n"),
            "ranks that the new job does not have\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: ranks from 0 to 0, each once\n  got:      [1]\n");
  EXPECT_EQ(plan_refusal("sources:\n  a: {path: a.et}\npieces:\n  p: {of: b}\nrun: [p]\n"),
            "a source that the plan does not have\n  file:     plan.yaml\n  field:    line 4\n"
            "  expected: one of a\n  got:      b\n");
  EXPECT_EQ(
      plan_refusal("sources:\n  a: {path: a.et}\npieces:\n  p: {of: a, operators: '('}\nrun: [p]\n")
          .substr(0, 96),
      "the operators are not a regular expression\n  file:     plan.yaml\n  field:    line 4\n"
      "  expected: ");
}

TEST(Plan, OfTwoKeysOfOneNameNoneIsTaken) {
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run: [p]\nrun: [p, p]\n"),
            "a key of a plan that comes twice\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: each key once\n  got:      run\n");
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run:\n  - {piece: p, repeat: 2, repeat: 3}\n"),
            "a key of a run that comes twice\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: each key once\n  got:      repeat\n");
}

TEST(Plan, OfTwoDocumentsNoneIsTaken) {
  EXPECT_EQ(plan_refusal(std::string(kStart) + "run: [p]\n---\nrun: [p]\n"),
            "two plans in one file\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: one document\n  got:      several\n");
  const std::string key = plan_refusal(std::string(kStart) + "run: [p]\n---b: 1\n");
  EXPECT_TRUE(key.ends_with("got:      '---b'\n")) << key;
}

}  // namespace
}  // namespace understudy::composer
