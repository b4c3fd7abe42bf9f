// The fuzz targets' properties over seeds and seeded mutations of them: a short run without
// libFuzzer, the same on every machine.

#include "properties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "corpus.h"
#include "et_schema/formats/report/report_json.h"
#include "json_mutation.h"
#include "predictor/platform/platform.h"
#include "random.h"
#include "report_samples.h"
#include "text_mutation.h"

namespace understudy::fuzz {
namespace {

struct Target {
  const char* name;
  void (*property)(std::string_view);
  int mutations;
  std::vector<std::string> (*seeds)() = nullptr;  ///< beside those of the corpus
  int of_structure = 0;  ///< of so many mutations one is of the JSON's structure; 0: none
};

void PrintTo(const Target& target, std::ostream* stream) {
  *stream << target.name;
}

/// Up to four changes of the structure of the JSON, which begins behind a first byte that chooses
/// the reader where there is one.
std::string restructured(const std::string& input, Random& random) {
  const std::size_t begin = input.find_first_of("{[");
  std::string json = begin == std::string::npos ? "" : input.substr(begin);
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
    json = mutate_json(json, trace_texts(), random);
  }
  return input.substr(0, begin) + json;
}

class PropertyTest : public testing::TestWithParam<Target> {};

TEST_P(PropertyTest, HoldsForSeedsAndTheirMutations) {
  const Target& target = GetParam();
  std::vector<std::string> seeds = read_corpus(target.name);
  if (target.seeds != nullptr) {
    std::ranges::copy(target.seeds(), std::back_inserter(seeds));
  }
  ASSERT_FALSE(seeds.empty());
  for (const std::string& input : seeds) {
    ASSERT_NO_THROW(target.property(input)) << input;
  }
  Random random(1);
  for (int i = 0; i < target.mutations; ++i) {
    const std::string& seed = seeds[random.below(seeds.size())];
    const bool is_of_structure = target.of_structure > 0 && i % target.of_structure == 0;
    const std::string input =
        is_of_structure ? restructured(seed, random) : mutate(seed, seeds, random);
    ASSERT_NO_THROW(target.property(input)) << "mutation " << i << ": " << input;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Readers, PropertyTest,
    testing::Values(
        Target{"trace", &check_trace, 3000}, Target{"input_files", &check_input_files, 3000},
        Target{"kineto", &check_kineto, 3000}, Target{"counters", &check_counters, 3000},
        Target{"profile_import", &check_profile_import, 2000, nullptr, 2},
        Target{"capture", &check_capture, 3000}, Target{"chakra", &check_chakra, 3000},
        Target{"indices", &check_indices, 3000}, Target{"plan", &check_plan, 20'000},
        Target{"program", &check_program, 3000, nullptr, 1},
        Target{"operator_table", &check_operator_table, 3000},
        Target{"operator_map", &check_operator_map, 3000, nullptr, 2},
        Target{"what_if", &check_what_if, 3000},
        Target{"platform", &check_platform, 150, &platform_seeds},
        Target{"judge", &cli::check_judge_property, 2000, nullptr, 2},
        Target{"bench", &et_schema::check_bench_property, 20'000, &et_schema::bench_seeds},
        Target{"report", &et_schema::check_report_property, 20'000, &et_schema::report_seeds},
        Target{"predictor", &predictor::check_predictor_property, 12'000,
               &predictor::predictor_seeds, 2}),
    [](const testing::TestParamInfo<Target>& given) { return std::string(given.param.name); });

TEST(PlanProperty, NestingAndAliasesEnd) {
  ASSERT_NO_THROW(check_plan("run: " + std::string(100'000, '[')));
  std::string aliases = "sources: {a: {path: a}}\npieces: {p: {of: a}}\nl0: &l0 [p, p]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = std::to_string(i - 1);
    aliases += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [{side_by_side: *l" +
               before + "}, {side_by_side: *l" + before + "}]\n";
  }
  ASSERT_NO_THROW(check_plan(aliases + "run: *l39\n"));
}

TEST(PlatformProperty, TheCorpusIsRead) {
  for (const std::string& input : read_corpus("platform")) {
    ASSERT_NO_THROW(static_cast<void>(predictor::parse_platform(input, "p.json"))) << input;
  }
}

TEST(WhatIfProperty, TextsAreRefusedOrRead) {
  constexpr int kTexts = 5000;
  const std::string letters = "matul x0.5:[]()|*+19-e network streams";
  Random random(12);
  for (int i = 0; i < kTexts; ++i) {
    std::string input(1, i % 2 == 0 ? 'q' : 'b');
    input += i % 2 == 0 ? "" : std::to_string(random.below(100));
    for (std::size_t length = random.below(14); length > 0; --length) {
      input += letters[random.below(letters.size())];
    }
    input += i % 3 == 0 ? " x0.5" : "";
    ASSERT_NO_THROW(check_what_if(input)) << input;
  }
}

/// Where a text that is a value begins, from a place on; the end where there is none.
std::size_t next_text(const std::string& json, std::size_t from) {
  for (std::size_t at = json.find(':', from); at != std::string::npos;
       at = json.find(':', at + 1)) {
    const std::size_t value = json.find_first_not_of(" \n", at + 1);
    if (value != std::string::npos && json[value] == '"') {
      return value + 1;
    }
  }
  return json.size();
}

/// What could end a script or a tag goes into texts, three times of four, or anywhere.
std::string with_markup(std::string json, Random& random) {
  static const std::vector<std::string> kTokens = {
      "<script>", "</script>",      "<!--",        "\\\"",  "'",       "&",
      "\\u0000",  "\\u2028",        "\xC3",        "1e308", "-1",      "0",
      "null",     "\\ud83d\\ude00", "javascript:", "\\n",   "</title>"};
  for (std::size_t edits = 1 + random.below(4); edits > 0; --edits) {
    const std::size_t any = random.below(json.size());
    const std::string& token = kTokens[random.below(kTokens.size())];
    if (random.below(4) > 0) {
      json.insert(next_text(json, any), token);
    } else {
      json.replace(any, random.below(3), token);
    }
  }
  return json;
}

TEST(PageProperty, HoldsOfEditedReports) {
  const std::vector<std::string> seeds = {et_schema::to_json(et_schema::sample_report(1)),
                                          et_schema::to_json(et_schema::sample_report(2))};
  Random random(1);
  constexpr int kInputs = 2000;
  int read = 0;
  for (const std::string& seed : seeds) {
    ASSERT_TRUE(pages::check_page_property(seed));
  }
  for (int i = 0; i < kInputs; ++i) {
    const std::string input = with_markup(seeds[random.below(seeds.size())], random);
    ASSERT_NO_THROW(read += pages::check_page_property(input) ? 1 : 0) << "input " << i;
  }
  EXPECT_GT(read, kInputs / 10);  // else the edits would try the reader alone
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
