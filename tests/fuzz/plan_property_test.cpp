// The plan reader's property over its corpus and over seeded mutations of it.

#include "plan_property.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corpus.h"
#include "random.h"
#include "text_mutation.h"

namespace understudy::fuzz {
namespace {

TEST(PlanProperty, HoldsForTheCorpusAndItsMutations) {
  constexpr int kMutations = 20'000;
  const std::vector<std::string> corpus = read_corpus("plan");
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) {
    ASSERT_NO_THROW(check_plan(input)) << input;
  }
  Random random(1);
  for (int i = 0; i < kMutations; ++i) {
    const std::string input = mutate(corpus[random.below(corpus.size())], corpus, random);
    ASSERT_NO_THROW(check_plan(input)) << "mutation " << i << ": " << input;
  }
}

TEST(PlanProperty, NestingAndAliasesEnd) {
  ASSERT_NO_THROW(check_plan("run: " + std::string(100'000, '[')));
  std::string aliases = "sources: {a: {path: a}}\npieces: {p: {of: a}}\nl0: &l0 [p, p]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = std::to_string(i - 1);
    aliases += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [{interleave: *l" + before +
               "}, {interleave: *l" + before + "}]\n";
  }
  ASSERT_NO_THROW(check_plan(aliases + "run: *l39\n"));
}

}  // namespace
}  // namespace understudy::fuzz
