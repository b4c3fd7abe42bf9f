#include "generator/emitter/outline/repeats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace understudy::emitter {
namespace {

std::vector<Repeat> repeats_of(const std::string& letters,
                               const std::vector<std::size_t>& costs = {}) {
  std::vector<std::uint32_t> tokens(letters.begin(), letters.end());
  return find_repeats(tokens, 0, tokens.size(), [&](std::size_t at) {
    return at < costs.size() ? costs[at] : std::size_t{0};
  });
}

TEST(Repeats, FindsRunsOfAPeriod) {
  EXPECT_EQ(repeats_of("xababababy"), (std::vector<Repeat>{{1, 2, 4}}));
  EXPECT_EQ(repeats_of("abcdabcdabcd"), (std::vector<Repeat>{{0, 4, 3}}));
}

TEST(Repeats, TakesTheOneThatSavesMostAndThenWhatIsBesideIt) {
  EXPECT_EQ(repeats_of("pqpqpqabcdefabcdefabcdef"), (std::vector<Repeat>{{0, 2, 3}, {6, 6, 3}}));
}

TEST(Repeats, LeavesSingleTokensAndSmallSavingsAlone) {
  EXPECT_TRUE(repeats_of("aaa").empty());
  EXPECT_TRUE(repeats_of("abcabc").empty());
  EXPECT_TRUE(repeats_of("").empty());
}

TEST(Repeats, CutsWhereItCostsLeast) {
  // abcd three times and an a: the run may begin before the first a or behind it.
  EXPECT_EQ(repeats_of("abcdabcdabcda", {5, 1}), (std::vector<Repeat>{{1, 4, 3}}));
  EXPECT_EQ(repeats_of("abcdabcdabcda", {1, 5}), (std::vector<Repeat>{{0, 4, 3}}));
}

}  // namespace
}  // namespace understudy::emitter
