// The property of the page fuzzer, over seeded edits of whole reports: part of every test run.

#include "page_property.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "et_schema/report/report_json.h"
#include "report_samples.h"

namespace understudy::pages {
namespace {

const std::vector<std::string>& tokens() {
  static const std::vector<std::string> kTokens = {
      "<script>", "</script>",      "<!--",        "\\\"",  "'",       "&",
      "\\u0000",  "\\u2028",        "\xC3",        "1e308", "-1",      "0",
      "null",     "\\ud83d\\ude00", "javascript:", "\\n",   "</title>"};
  return kTokens;
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

/// Tokens in texts, three times of four, or anywhere.
std::string edited(std::string json, std::mt19937_64& engine) {
  for (std::uint64_t edits = 1 + engine() % 4; edits > 0; --edits) {
    const std::size_t any = engine() % json.size();
    const std::string& token = tokens()[engine() % tokens().size()];
    if (engine() % 4 > 0) {
      json.insert(next_text(json, any), token);
    } else {
      json.replace(any, engine() % 3, token);
    }
  }
  return json;
}

TEST(PageProperty, HoldsOfEditedReports) {
  const std::vector<std::string> seeds = {et_schema::to_json(et_schema::sample_report(1)),
                                          et_schema::to_json(et_schema::sample_report(2))};
  std::mt19937_64 engine(1);
  constexpr int kInputs = 2000;
  int read = 0;
  for (const std::string& seed : seeds) {
    ASSERT_TRUE(check_page_property(seed));
  }
  for (int i = 0; i < kInputs; ++i) {
    const std::string input = edited(seeds[engine() % seeds.size()], engine);
    ASSERT_NO_THROW(read += check_page_property(input) ? 1 : 0) << "input " << i;
  }
  EXPECT_GT(read, kInputs / 10);  // else the edits would try the reader alone
}

}  // namespace
}  // namespace understudy::pages
