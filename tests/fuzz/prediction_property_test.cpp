// The properties of prediction_property.h over seeds and their mutations: a part of every test run.

#include "prediction_property.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corpus.h"
#include "predictor/platform/platform.h"
#include "random.h"

namespace understudy::fuzz {
namespace {

std::string mutated(std::string text, Random& random) {
  static const std::vector<std::string> kTokens = {
      "-1", "0",    "1e999", "nan",        "[",  "]",    "{",        "}",  "\"",
      ",",  "null", ";",     "float32[0]", "\n", "1e-9", "aten::mm", "-0", "99999999999999999999"};
  for (std::size_t edits = 1 + random.below(3); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = random.below(12);
    switch (random.below(4)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.replace(at, length, kTokens[random.below(kTokens.size())]);
        break;
    }
  }
  return text;
}

TEST(OperatorTableProperty, HoldsForTheCorpusAndItsMutations) {
  constexpr int kMutations = 3000;
  const std::vector<std::string> corpus = read_corpus("operator_table");
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) {
    ASSERT_NO_THROW(check_operator_table(input)) << input;
  }
  Random random(1);
  for (int i = 0; i < kMutations; ++i) {
    const std::string input = mutated(corpus[random.below(corpus.size())], random);
    ASSERT_NO_THROW(check_operator_table(input)) << "mutation " << i << ": " << input;
  }
}

TEST(PlatformProperty, HoldsForASeedAndItsMutations) {
  constexpr int kMutations = 150;
  for (const std::string& input : read_corpus("platform")) {
    ASSERT_NO_THROW(static_cast<void>(predictor::parse_platform(input, "p.json"))) << input;
    ASSERT_NO_THROW(check_platform(input)) << input;
  }
  const std::string seed = platform_seed();
  ASSERT_NO_THROW(check_platform(seed));
  Random random(1);
  for (int i = 0; i < kMutations; ++i) {
    const std::string input = mutated(seed, random);
    ASSERT_NO_THROW(check_platform(input)) << "mutation " << i;
  }
}

}  // namespace
}  // namespace understudy::fuzz
