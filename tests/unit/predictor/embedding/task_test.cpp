#include "predictor/embedding/task.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

std::string tables_message(const std::string& text) {
  return error_of([&] { return parse_tables(text, "tables.json"); }) + "\n";
}

TEST(Tables, WrittenByHand) {
  const ShardTask task =
      parse_tables(R"({"tables":[{"rows":10,"dim":8,"pooling":1},{"rows":5,"dim":4,"pooling":2,
                       "dtype":"float16","name":"users"}]})",
                   "tables.json");
  EXPECT_EQ(task.tables[0].name, "table 0");
  EXPECT_EQ(task.tables[1].name, "users");
  EXPECT_EQ(task.tables[1].table.item_bytes, 2);
}

TEST(Tables, AreRefusedByField) {
  EXPECT_EQ(tables_message(R"({"tables":[]})"),
            "the tables cannot be read\n"
            "  file:     tables.json\n"
            "  field:    tables\n"
            "  expected: a table or more\n"
            "  got:      none\n"
            "  hint:     docs/formats.md, \"Tables\", has an example\n");
  EXPECT_EQ(tables_message(R"({"tables":[{"name":"a","rows":1,"dim":1,"pooling":1},
                           {"name":"a","rows":1,"dim":1,"pooling":1}]})"),
            "the tables cannot be read\n"
            "  file:     tables.json\n"
            "  field:    tables[1]\n"
            "  expected: a name of its own\n"
            "  got:      a again\n"
            "  hint:     docs/formats.md, \"Tables\", has an example\n");
  EXPECT_EQ(tables_message(R"({"format":"understudy-tables","version":2,"tables":[]})"),
            "the file of tables is of another version than this program reads\n"
            "  file:     tables.json\n"
            "  field:    version\n"
            "  expected: version 1, which Understudy 0.1.0 reads\n"
            "  got:      version 2, written by Understudy of an unknown version\n"
            "  hint:     use that version of Understudy, or make the file of tables "
            "again with this one\n");
}

}  // namespace
}  // namespace understudy::predictor
