// The property of the predictor's fuzzer, over seeded mutations of whole files: part of every test
// run.

#include "predictor_property.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json_mutation.h"
#include "random.h"

namespace understudy::predictor {
namespace {

/// One to four bytes changed, removed, repeated or put in from another seed.
std::string with_bytes_changed(const std::vector<std::string>& seeds, std::string text,
                               fuzz::Random& random) {
  constexpr std::size_t kMostEdits = 4;
  constexpr std::size_t kLongest = 16;
  for (std::size_t edits = 1 + random.below(kMostEdits); edits > 0 && text.size() > 1; --edits) {
    const std::size_t at = 1 + random.below(text.size() - 1);
    const std::size_t length = random.below(kLongest);
    const std::string& other = seeds[random.below(seeds.size())];
    switch (random.below(4)) {
      case 0:
        text[at] = static_cast<char>(random.next());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.replace(at, length, other.substr(random.below(other.size()), length));
        break;
    }
  }
  return text;
}

TEST(PredictorProperty, MutatedFilesAreRefusedOrReadAsTheyAre) {
  constexpr int kInputs = 12000;
  const std::vector<std::string> seeds = predictor_seeds();
  for (const std::string& seed : seeds) {
    ASSERT_NO_THROW(check_predictor_property(seed)) << seed;
  }
  const std::vector<std::string_view> texts = {"allreduce", "float16",  "nan",
                                               "inf",       "backward", "reuse"};
  fuzz::Random random(7);
  for (int i = 0; i < kInputs; ++i) {
    const std::string& seed = seeds[random.below(seeds.size())];
    const std::string input =
        i % 2 == 0 ? with_bytes_changed(seeds, seed, random)
                   : seed.substr(0, 1) + fuzz::mutate_json(seed.substr(1), texts, random);
    ASSERT_NO_THROW(check_predictor_property(input)) << "input " << i << "\n" << input;
  }
}

}  // namespace
}  // namespace understudy::predictor
