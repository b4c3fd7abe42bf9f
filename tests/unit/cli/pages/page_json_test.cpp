// What a page's script is given, and that no text can leave it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "page_samples.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Page& page) {
  return Json::parse(to_page_json(page));
}

/// The blocks of a page with one section.
Json blocks_of(std::vector<Block> blocks) {
  Page page;
  page.sections = {{"s", "S", std::move(blocks)}};
  return json_of(page).at("sections").at(0).at("blocks");
}

class HostileTexts : public testing::TestWithParam<std::string> {};

TEST_P(HostileTexts, StayInTheirBlocks) {
  for (const NamedPage& sample : sample_pages({GetParam()})) {
    const HtmlParts parts = parts_of(to_html(sample.page));
    EXPECT_EQ(parts.around, parts_of(to_html(Page())).around) << sample.file;
    for (const std::string& block : {parts.page, parts.data}) {
      EXPECT_EQ(block.find_first_of("<>&"), std::string::npos) << sample.file;
      EXPECT_TRUE(Json::accept(block)) << sample.file;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, HostileTexts,
                         testing::Values("<script>alert(1)</script>", "</script>", "@DATA@", "<!--",
                                         "]]>", "\" onload=\"x", "\\u003c/script>", "&lt;b&gt;",
                                         "a\nb", std::string("a\0b", 3), "\xFF\xFE<x>",
                                         "\xE2\x80\xA8<x>", std::string(5000, '<')));

TEST(PageJson, HasTextsAsTheyAre) {
  Page page{.title = "</script><b>", .verdict = {.sentence = "a & b"}};
  const Json read = Json::parse(parts_of(to_html(page)).page);
  EXPECT_EQ(read.at("title"), page.title);
  EXPECT_EQ(read.at("verdict"), page.verdict.sentence);
}

TEST(PagePolicy, LetsNothingBeLoadedAndOneScriptRun) {
  EXPECT_NE(kPageTemplate.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(kPageTemplate.find("script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(kPageTemplate.find("unsafe-"), std::string::npos);
}

TEST(PageJson, IsTheSameEachTime) {
  for (std::size_t i = 0; i < sample_pages().size(); ++i) {
    EXPECT_EQ(to_html(sample_pages()[i].page), to_html(sample_pages()[i].page));
  }
}

TEST(PageJson, LeavesOutSectionsWithoutContent) {
  Page page;
  page.sections = {{"empty", "Empty", {Table(), Facts{{"a", ""}}, Notes(), Timeline()}},
                   {"full", "Full", {Notes{{"x"}}}}};
  EXPECT_EQ(json_of(page).at("sections").size(), 1);
}

TEST(PageJson, FactsNameTheirPlace) {
  EXPECT_EQ(blocks_of({Facts{{"median", 31.25, CellKind::kFigure, "ms", "/iteration_ms/median"}}}),
            Json::parse(R"([{"facts": [{"name": "median", "value": 31.25, "hint": "figure",
                                        "unit": "ms", "at": "/iteration_ms/median"}]}])"));
}

TEST(PageJson, TablesHaveAllRowsAndTheirPlots) {
  Table table{.id = "t",
              .caption = "Rows",
              .columns = {texts("name"), figures("ms", "time_ms")},
              .at = "/rows",
              .plots = {{.draw = Draw::kInterval,
                         .caption = "Plot",
                         .columns = {1},
                         .words = 0,
                         .reference = 1}}};
  table.rows = {{std::string("a"), 0.5}, {Link{"b", "javascript:x"}, Cell()}};
  const Json block = blocks_of({table}).at(0).at("table");
  EXPECT_EQ(block.at("rows"), Json::parse(R"([["a", 0.5], [["b", "javascript%3Ax"], null]])"));
  EXPECT_EQ(block.at("columns").at(1),
            Json::parse(R"({"key": "time_ms", "title": "ms", "hint": "figure", "meaning": ""})"));
  EXPECT_EQ(block.at("plots").at(0),
            Json::parse(R"({"hint": "interval", "caption": "Plot", "columns": [1], "unit": "",
                            "bounds": [], "from_zero": true, "words": 0, "reference": 1.0, "band": null, "limits": []})"));
  EXPECT_EQ(block.at("at"), "/rows");
  EXPECT_EQ(blocks_of({drawn(table, {})}).at(0).at("table").at("shown"), 0);
}

TEST(PageJson, IdsAreUnique) {
  for (const NamedPage& sample : sample_pages()) {
    std::set<std::string> ids;
    const Json document = json_of(sample.page);
    for (const Json& section : document.at("sections")) {
      EXPECT_TRUE(ids.insert(section.at("id")).second) << sample.file << section.at("id");
      for (const Json& block : section.at("blocks")) {
        if (block.contains("table") && block.at("table").at("shown") > 0) {
          EXPECT_TRUE(ids.insert(block.at("table").at("id")).second) << sample.file;
        }
      }
    }
  }
}

// Not in order, and overlapping: 0 … 3 and 5 … 6 ms are busy.
Timeline sample_timeline() {
  return {"t",
          "A step.",
          {"aten::mm", "allreduce"},
          {"matmul", "communication"},
          {{"rank 0",
            "thread 1",
            {{5'000'000, 1'000'000, 0, 0},
             {0, 2'000'000, 0, 0},
             {1'000'000, 2'000'000, 1, 1},
             {8'000'000, 1'000'000, 0, 0}}}}};
}

TEST(Lanes, HaveTheirEventsInOrderAndEqualOnesOnce) {
  const Json lanes = blocks_of({sample_timeline()}).at(0);
  EXPECT_EQ(lanes.at("lanes").at(0).at("events"), Json({0, 1, 2, 2}));
  EXPECT_EQ(lanes.at("events"),
            Json({0, 2'000'000, 0, 0, -1'000'000, 2'000'000, 1, 1, 2'000'000, 1'000'000, 0, 0}));
}

TEST(TextNumbers, AreGivenOnce) {
  TextNumbers numbers;
  EXPECT_EQ(numbers.number_of("a"), 0);
  EXPECT_EQ(numbers.number_of("b"), 1);
  EXPECT_EQ(numbers.number_of("a"), 0);
  EXPECT_EQ(numbers.texts(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace understudy::pages
