#include "et_schema/base/csv.h"

#include <gtest/gtest.h>

#include "et_schema/base/quote.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

std::string csv_refusal(std::string_view text) {
  return testing_errors::error_of([&] { return parse_csv(text, "t.csv"); });
}

std::string no_csv(int line, const std::string& expected, const std::string& got) {
  return "the table cannot be read\n  file:     t.csv, line " + std::to_string(line) +
         "\n  expected: " + expected + "\n  got:      " + got;
}

TEST(Csv, CellsInQuotesHoldCommasQuotesAndLineBreaks) {
  const CsvTable table = parse_csv("a,b\r\n\"x, \"\"y\"\"\",1\n\"two\nlines\",2\n", "t.csv");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.records.size(), 2U);
  EXPECT_EQ(table.records[0].cells, (std::vector<std::string>{"x, \"y\"", "1"}));
  EXPECT_EQ(table.records[1].cells, (std::vector<std::string>{"two\nlines", "2"}));
  EXPECT_EQ(table.records[1].line, 3U);
}

TEST(Csv, ACellReadsBackAsItWas) {
  for (const std::string text : {"plain", "a,b", "say \"so\"", "two\nlines", ""}) {
    const CsvTable table = parse_csv("h,i\n" + csv_cell(text) + ",x\n", "t.csv");
    EXPECT_EQ(table.records.at(0).cells.at(0), text);
  }
}

TEST(Csv, NoCellIsAFormula) {
  const std::pair<const char*, const char*> cells[] = {
      {"=1+2", "'=1+2"},         {"=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""},
      {"+cmd", "'+cmd"},         {"-2+3", "'-2+3"},
      {"@SUM(a)", "'@SUM(a)"},   {"\t=1", "\"'\t=1\""},
      {"\r=1", "\"'\r=1\""},     {"-", "'-"},
      {"-12.5", "-12.5"},        {"+3e-05", "+3e-05"},
      {"-inf", "-inf"},          {"a=b", "a=b"},
      {"aten::add", "aten::add"}};
  for (const auto& [text, cell] : cells) {
    EXPECT_EQ(csv_cell(text), cell);
  }
}

TEST(Csv, ByteOrderMarkAndEmptyLinesArePassedOver) {
  const CsvTable table = parse_csv(
      "\xef\xbb\xbf"
      "a,b\n\n1,2\n\n",
      "t.csv");
  EXPECT_TRUE(table.has("a"));
  EXPECT_EQ(table.records.size(), 1U);
}

TEST(Csv, AnEmptyLastCellIsACell) {
  EXPECT_EQ(parse_csv("a,b\n1,", "t.csv").records.at(0).cells.at(1), "");
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_EQ(csv_refusal(""), no_csv(1, "a line of column titles", "an empty file"));
  EXPECT_EQ(csv_refusal("a,a\n"), no_csv(1, "each column once", "a twice"));
  EXPECT_EQ(csv_refusal("a,b\n1,2\n1,2,3\n"), no_csv(3, "2 cells, as the titles have", "3"));
  EXPECT_EQ(csv_refusal("a\n1\n\"open\n"),
            no_csv(3, "a cell that ends with a quote", "the end of the file"));
  EXPECT_EQ(csv_refusal("a\n\"x\"y\n"),
            no_csv(2, "a comma or the end of the line behind a quoted cell", "y"));
}

TEST(Csv, OtherSeparatorsAreNamed) {
  EXPECT_EQ(csv_refusal("a;b\n1;2\n"),
            no_csv(1, "commas between columns, and points in numbers", "semicolons"));
  EXPECT_EQ(csv_refusal("a\tb\n1\t2\n"),
            no_csv(1, "commas between columns, and points in numbers", "tabs"));
}

}  // namespace
}  // namespace understudy::et_schema
