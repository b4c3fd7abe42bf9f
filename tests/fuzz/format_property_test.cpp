// The properties of the fuzzers, over seeded mutations of whole files: part of every test run.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bench_property.h"

namespace understudy::et_schema {
namespace {

// One to four edits: a byte changed, a range removed, repeated, or taken from another seed.
std::string mutated(const std::vector<std::string>& seeds, std::mt19937_64& engine) {
  const auto below = [&engine](std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(engine() % bound);
  };
  constexpr std::size_t kLongestRange = 16;
  static const std::vector<std::string> kTokens = {"-1",
                                                   "0",
                                                   "1",
                                                   "2",
                                                   "9223372036854775807",
                                                   "18446744073709551615",
                                                   "1e999",
                                                   "null",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   "\"",
                                                   "\"%0\"",
                                                   "\"nan\"",
                                                   "\"inf\"",
                                                   "true",
                                                   ",",
                                                   "\n",
                                                   "\\ud800"};
  std::string text = seeds[below(seeds.size())];
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size());
    const std::size_t length = std::min(below(kLongestRange), text.size() - at);
    const std::string& other = seeds[below(seeds.size())];
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(engine());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, std::string(text.substr(at, length)));
        break;
      case 3:
        text.replace(at, length, kTokens[below(kTokens.size())]);
        break;
      default:
        text.replace(at, length, other.substr(below(other.size()), length));
        break;
    }
    if (text.empty()) {
      return text;
    }
  }
  return text;
}

constexpr int kInputs = 20000;

TEST(FormatProperty, MutatedBenchesAreRefusedOrReadAsTheyAre) {
  const std::vector<std::string> seeds = bench_seeds();
  for (const std::string& seed : seeds) {
    check_bench_property(seed);
  }
  std::mt19937_64 engine(1);
  for (int i = 0; i < kInputs; ++i) {
    const std::string input = mutated(seeds, engine);
    ASSERT_NO_THROW(check_bench_property(input)) << "input " << i;
  }
}

TEST(FormatProperty, MutatedReportsAreRefusedOrReadAsTheyAre) {
  const std::vector<std::string> seeds = report_seeds();
  for (const std::string& seed : seeds) {
    check_report_property(seed);
  }
  std::mt19937_64 engine(2);
  for (int i = 0; i < kInputs; ++i) {
    const std::string input = mutated(seeds, engine);
    ASSERT_NO_THROW(check_report_property(input)) << "input " << i;
  }
}

}  // namespace
}  // namespace understudy::et_schema
