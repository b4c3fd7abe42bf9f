#include "predictor/calls/csv.h"

#include <gtest/gtest.h>

#include "et_schema/support/quote.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

std::string csv_refusal(std::string_view text) {
  return testing_errors::error_of([&] { return parse_csv(text, "t.csv"); });
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
    const CsvTable table = parse_csv("h,i\n" + et_schema::csv_cell(text) + ",x\n", "t.csv");
    EXPECT_EQ(table.records.at(0).cells.at(0), text);
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
  EXPECT_EQ(csv_refusal(""),
            "the table cannot be read\n  file:     t.csv, line 1\n  expected: a line of column "
            "titles\n  got:      an empty file");
  EXPECT_EQ(csv_refusal("a,a\n"),
            "the table cannot be read\n  file:     t.csv, line 1\n  expected: each column once\n  "
            "got:      a twice");
  EXPECT_EQ(csv_refusal("a,b\n1,2\n1,2,3\n"),
            "the table cannot be read\n  file:     t.csv, line 3\n  expected: 2 cells, as the "
            "titles have\n  got:      3");
  EXPECT_EQ(csv_refusal("a\n1\n\"open\n"),
            "the table cannot be read\n  file:     t.csv, line 3\n  expected: a cell that ends "
            "with a quote\n  got:      the end of the file");
  EXPECT_EQ(csv_refusal("a\n\"x\"y\n"),
            "the table cannot be read\n  file:     t.csv, line 2\n  expected: a comma or the end "
            "of the line behind a quoted cell\n  got:      y");
}

TEST(Csv, OtherSeparatorsAreNamed) {
  EXPECT_EQ(csv_refusal("a;b\n1;2\n"),
            "the table cannot be read\n  file:     t.csv, line 1\n  expected: commas between "
            "columns, and points in numbers\n  got:      semicolons");
  EXPECT_EQ(csv_refusal("a\tb\n1\t2\n"),
            "the table cannot be read\n  file:     t.csv, line 1\n  expected: commas between "
            "columns, and points in numbers\n  got:      tabs");
}

}  // namespace
}  // namespace understudy::predictor
