#include "predictor/embedding/task.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "et_schema/base/error.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

std::string tables_message(const std::string& text) {
  return testing_errors::error_of([&] { return parse_tables(text, "tables.json"); }) + "\n";
}

TEST(Tables, ComeBackAsWritten) {
  const ShardTask task = draw_task({.ranks = 4, .is_heavy = true, .seed = 3});
  const std::string text = to_json(task);
  const ShardTask again = parse_tables(text, "tables.json");
  ASSERT_EQ(again.tables.size(), task.tables.size());
  EXPECT_EQ(again.batch, 2048);
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    EmbeddingTable table = again.tables[i].table;
    // Six digits of a share need not add up to 1: reading makes them.
    ASSERT_EQ(table.reuse.has_value(), task.tables[i].table.reuse.has_value());
    for (std::size_t bin = 0; table.reuse && bin < kReuseBins; ++bin) {
      EXPECT_NEAR((*table.reuse)[bin], (*task.tables[i].table.reuse)[bin], 1e-5);
    }
    table.reuse = task.tables[i].table.reuse;
    EXPECT_EQ(table, task.tables[i].table);
    EXPECT_EQ(again.tables[i].name, task.tables[i].name);
  }
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

TEST(Draw, IsAsThePublishedTasksAre) {
  for (const bool is_heavy : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const ShardTask task = draw_task({.ranks = 4, .is_heavy = is_heavy, .seed = seed});
      EXPECT_GE(task.tables.size(), 36U);
      EXPECT_LE(task.tables.size(), 67U);
      for (const auto& [name, table] : task.tables) {
        EXPECT_GE(table.pooling, is_heavy ? 20 : 1);
        EXPECT_LE(table.pooling, is_heavy ? 200 : 20);
        EXPECT_GE(table.rows, 100);
        if (table.reuse) {
          EXPECT_NEAR(std::accumulate(table.reuse->begin(), table.reuse->end(), 0.0), 1, 1e-4);
        }
      }
    }
  }
}

TEST(Draw, EqualSeedsDrawEqualTasks) {
  EXPECT_EQ(draw_task({.ranks = 2, .seed = 9}), draw_task({.ranks = 2, .seed = 9}));
  EXPECT_NE(draw_task({.ranks = 2, .seed = 9}), draw_task({.ranks = 2, .seed = 10}));
}

TEST(Draw, KeepsToTheMemory) {
  const double memory = 4.0 * (1U << 30U);
  const ShardTask task =
      draw_task({.ranks = 2, .is_heavy = true, .seed = 1, .memory_bytes = memory});
  double bytes = 0;
  for (const NamedTable& table : task.tables) {
    bytes += table_bytes(table.table);
  }
  EXPECT_LE(bytes, 0.8 * 2 * memory);
}

TEST(Draw, GivesUpWhereNothingFits) {
  EXPECT_THROW((void)draw_task({.ranks = 1, .is_heavy = false, .seed = 1, .memory_bytes = 1000}),
               et_schema::Error);
}

}  // namespace
}  // namespace understudy::predictor
