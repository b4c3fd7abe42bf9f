// The property of the program fuzzer over its seeds and seeded mutations of them.

#include "program_property.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corpus.h"
#include "json_mutation.h"

namespace understudy::fuzz {
namespace {

TEST(ProgramProperty, HoldsForTheSeedsAndTheirMutations) {
  constexpr int kMutations = 3000;
  const std::vector<std::string> seeds = read_corpus("program");
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    ASSERT_NO_THROW(check_program(seed)) << seed;
  }
  Random random(1);
  for (int i = 0; i < kMutations; ++i) {
    std::string input = seeds[random.below(seeds.size())];
    for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
      input = mutate_json(input, trace_texts(), random);
    }
    ASSERT_NO_THROW(check_program(input)) << "mutation " << i << ": " << input;
  }
}

TEST(JsonMutation, OfJsonIsMostlyJson) {
  // A mutation that turned every input into one that is refused would test nothing behind the
  // reader.
  constexpr int kMutations = 300;
  const std::string seed = R"({"a":[1,2,{"id":3,"b":"text"},[4,5]],"c":{"d":[6]}})";
  Random random(2);
  int balanced = 0;
  int changed = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string mutated = mutate_json(seed, {"other"}, random);
    int depth = 0;
    for (const char c : mutated) {
      depth += c == '{' || c == '[' ? 1 : 0;
      depth -= c == '}' || c == ']' ? 1 : 0;
    }
    balanced += depth == 0 ? 1 : 0;
    changed += mutated == seed ? 0 : 1;
  }
  EXPECT_EQ(balanced, kMutations);
  EXPECT_GT(changed, kMutations / 2);
}

}  // namespace
}  // namespace understudy::fuzz
