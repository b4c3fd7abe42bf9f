// The fuzz targets' properties over the corpus and over seeded mutations of it: a short run without
// libFuzzer, the same on every machine.

#include "properties.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "corpus.h"
#include "random.h"
#include "text_mutation.h"

namespace understudy::fuzz {
namespace {

using Property = void (*)(std::string_view);

struct Target {
  const char* name;
  Property property;
};

void PrintTo(const Target& target, std::ostream* stream) {
  *stream << target.name;
}

class PropertyTest : public testing::TestWithParam<Target> {};

TEST_P(PropertyTest, HoldsForTheCorpusAndItsMutations) {
  constexpr int kMutations = 3000;
  const Target& target = GetParam();
  const std::vector<std::string> corpus = read_corpus(target.name);
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) {
    ASSERT_NO_THROW(target.property(input)) << input;
  }
  Random random(1);
  for (int i = 0; i < kMutations; ++i) {
    const std::string input = mutate(corpus[random.below(corpus.size())], corpus, random);
    ASSERT_NO_THROW(target.property(input)) << "mutation " << i << ": " << input;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Readers, PropertyTest,
    testing::Values(Target{"trace", &check_trace}, Target{"input_files", &check_input_files},
                    Target{"kineto", &check_kineto}, Target{"capture", &check_capture},
                    Target{"chakra", &check_chakra}, Target{"indices", &check_indices}),
    [](const testing::TestParamInfo<Target>& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace understudy::fuzz
