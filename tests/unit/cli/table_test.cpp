#include "common/table.h"

#include <gtest/gtest.h>

namespace understudy::cli {
namespace {

TextTable example() {
  TextTable table({{"name", Alignment::kLeft}, {"count", Alignment::kRight}, {"note"}});
  table.add({"a", "1,000", "x, \"y\""});
  table.add({"größer", "2", ""});
  return table;
}

TEST(TextTable, AlignsByWhatATerminalShows) {
  EXPECT_EQ(example().to_text(),
            "  name    count  note\n"
            "  a       1,000  x, \"y\"\n"
            "  größer      2\n");
}

TEST(TextTable, ACellCannotLeaveItsPlace) {
  TextTable table({{"name"}, {"count"}});
  table.add({"a\n\x1b[1A\u202eb", "1"});
  table.add({"\xff", "2"});
  EXPECT_EQ(table.to_text(),
            "  name                     count\n"
            "  a\\u000a\\u001b[1A\\u202eb  1\n"
            "  \\xff                     2\n");
}

TEST(TextTable, CsvQuotesWhatItMust) {
  EXPECT_EQ(example().to_csv(), "name,count,note\na,\"1,000\",\"x, \"\"y\"\"\"\ngrößer,2,\n");
}

TEST(TextTable, EmptyUntilARowIsThere) {
  EXPECT_TRUE(TextTable({{"a"}}).empty());
  EXPECT_FALSE(example().empty());
}

TEST(Numbers, WithCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

TEST(Numbers, WithBytes) {
  EXPECT_EQ(with_bytes(1023), "1023 B");
  EXPECT_EQ(with_bytes(1536), "1.5 KiB");
  EXPECT_EQ(with_bytes(std::uint64_t{5} << 30U), "5.0 GiB");
}

}  // namespace
}  // namespace understudy::cli
