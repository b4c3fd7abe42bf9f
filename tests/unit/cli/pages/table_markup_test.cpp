#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/pages/html/table.h"
#include "tags.h"

namespace understudy::pages {
namespace {

TEST(CellText, IsReadByItsKind) {
  EXPECT_EQ(cell_text(12.3456, CellKind::kFigure), "12.35");
  EXPECT_EQ(cell_text(0.5, CellKind::kChange), "+0.500");
  EXPECT_EQ(cell_text(-0.5, CellKind::kChange), "-0.500");
  EXPECT_EQ(cell_text(1.0254, CellKind::kRatio), "1.025");
  EXPECT_EQ(cell_text(0.8424, CellKind::kShare), "84.2 %");
  EXPECT_EQ(cell_text(0.99999, CellKind::kPercent), "99.99 %");
  EXPECT_EQ(cell_text(std::uint64_t{1234567}, CellKind::kCount), "1,234,567");
  EXPECT_EQ(cell_text(1234.0, CellKind::kCount), "1,234");
  EXPECT_EQ(cell_text(std::uint64_t{1536}, CellKind::kBytes), "1.5 KiB");
  EXPECT_EQ(cell_text(std::string("aten::mm"), CellKind::kText), "aten::mm");
  EXPECT_EQ(cell_text(1e20, CellKind::kRatio), "1.000e+20");
}

TEST(CellText, OfNothingIsADash) {
  EXPECT_EQ(cell_text({}, CellKind::kFigure), "–");
  EXPECT_EQ(cell_text(cell_of(std::optional<double>(NAN)), CellKind::kFigure), "–");
  EXPECT_EQ(cell_text(cell_of(std::optional<double>(HUGE_VAL)), CellKind::kFigure), "–");
  EXPECT_EQ(cell_text(cell_of(std::optional<double>()), CellKind::kFigure), "–");
}

TEST(CellText, AZeroHasNoSign) {
  EXPECT_EQ(cell_text(cell_of(std::optional<double>(-0.0)), CellKind::kFigure), "0.000");
}

TEST(Links, LeadToNoOtherPlace) {
  EXPECT_EQ(link_markup({"x", "javascript:alert(1)"}).html(),
            "<a href=\"javascript%3Aalert%281%29\">x</a>");
  EXPECT_EQ(link_markup({"x", "//host/path"}).html(), "<a href=\".//host/path\">x</a>");
  EXPECT_EQ(link_markup({"x", "https://host"}).html(), "<a href=\"https%3A//host\">x</a>");
  EXPECT_EQ(link_markup({"x", "job-a-1.html#top"}).html(), "<a href=\"job-a-1.html#top\">x</a>");
}

Table table_of(std::size_t rows) {
  Table table{.id = "t", .caption = "Rows", .columns = {{"name"}, {"ms", CellKind::kFigure}}};
  for (std::size_t i = 0; i < rows; ++i) {
    table.rows.push_back({"row " + std::to_string(i), static_cast<double>(i) + 0.5});
  }
  return table;
}

TEST(TableMarkup, OfNoRowsIsNothing) {
  EXPECT_TRUE(table_markup(table_of(0)).empty());
}

TEST(TableMarkup, OfFewRowsIsAPlainTable) {
  EXPECT_EQ(
      table_markup(table_of(1)).html(),
      "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-labelledby=\"t-caption\">"
      "<table id=\"t\"><caption id=\"t-caption\">Rows</caption>"
      "<thead><tr><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">ms</th></tr></thead>"
      "<tbody><tr><th scope=\"row\">row 0</th><td class=\"n\">0.500</td></tr>\n</tbody></table>"
      "</div>");
}

TEST(TableMarkup, OfManyRowsHasAllInItsBlock) {
  Table table = table_of(120);
  table.rows[3][1] = Cell();
  const std::string html = table_markup(table).html();
  const auto block = nlohmann::json::parse(block_of(html, "t-rows"));
  EXPECT_EQ(block["rows"].size(), 120);
  EXPECT_EQ(block["rows"][119], nlohmann::json::array({"row 119", 119.5}));
  EXPECT_EQ(block["rows"][3], nlohmann::json::array({"row 3", nullptr}));
  EXPECT_EQ(block["kinds"], nlohmann::json::array({"text", "figure"}));
  EXPECT_NE(html.find("50 of 120 rows"), std::string::npos);
  EXPECT_NE(html.find("row 49<"), std::string::npos);
  EXPECT_EQ(html.find("row 50<"), std::string::npos);
}

TEST(TableMarkup, VerdictsHaveAClassOfTheirWord) {
  Table table{.id = "t", .caption = "", .columns = {{"name"}, {"verdict", CellKind::kVerdict}}};
  table.rows = {{std::string("a"), std::string("SLOWER (noise)")}};
  EXPECT_NE(table_markup(table).html().find("<span class=\"v-slower\">SLOWER (noise)</span>"),
            std::string::npos);
}

TEST(Facts, WithoutATextAreLeftOut) {
  EXPECT_EQ(facts_markup({{"a", "1"}, {"b", ""}}).html(),
            "<dl class=\"facts\"><div><dt>a</dt><dd>1</dd></div></dl>");
  EXPECT_TRUE(facts_markup({{"b", ""}}).empty());
}

}  // namespace
}  // namespace understudy::pages
