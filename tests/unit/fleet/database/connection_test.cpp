#include "fleet/database/connection.h"

#include <cmath>
#include <limits>
#include <thread>

#include "database/database_fixture.h"
#include "et_schema/base/error.h"
#include "fleet/database/schema.h"
#include "testing/error_text.h"

namespace understudy::fleet {
namespace {

class Databases : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, Databases, ::testing::ValuesIn(database_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST_P(Databases, ValuesComeBackAsTheyWere) {
  const auto connection = open();
  connection->execute(
      "CREATE TABLE thing (number BIGINT, share DOUBLE PRECISION, words TEXT, empty TEXT)");
  const double third = 1.0 / 3.0;
  const std::string words = "line\none ' \" $1 é → ☃";
  EXPECT_EQ(connection->execute("INSERT INTO thing VALUES ($1, $2, $3, $4)",
                                {std::numeric_limits<std::int64_t>::min(), third, words, Value()}),
            1U);
  const Rows rows = connection->query("SELECT number, share, words, empty FROM thing");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].integer(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(rows[0].real(1), third);
  EXPECT_EQ(rows[0].text(2), words);
  EXPECT_TRUE(rows[0].is_null(3));
  EXPECT_EQ(rows[0].text(3), "");
  EXPECT_TRUE(std::isnan(rows[0].real(3)));
}

TEST_P(Databases, ParametersMayBeUsedTwiceAndOutOfOrder) {
  const auto connection = open();
  connection->execute("CREATE TABLE thing (a BIGINT, b BIGINT)");
  connection->execute("INSERT INTO thing VALUES ($2, $1)", {std::int64_t{1}, std::int64_t{2}});
  EXPECT_EQ(connection
                ->query("SELECT 1 FROM thing WHERE a = $2 AND b = $1 AND a > $1",
                        {std::int64_t{1}, std::int64_t{2}})
                .size(),
            1U);
}

TEST_P(Databases, WhatThrowsLeavesNothing) {
  const auto connection = open();
  EXPECT_THROW(in_transaction(*connection,
                              [&] {
                                set_setting(*connection, "a", "b");
                                throw std::runtime_error("stop");
                              }),
               std::runtime_error);
  EXPECT_EQ(setting(*connection, "a"), "");
  in_transaction(*connection, [&] { set_setting(*connection, "a", "c"); });
  EXPECT_EQ(setting(*connection, "a"), "c");
}

TEST_P(Databases, WhatMayPassIsTriedAgainAndCountsOnce) {
  const auto connection = open();
  connection->execute("CREATE TABLE thing (a BIGINT)");
  int tries = 0;
  in_transaction(*connection, [&] {
    connection->execute("INSERT INTO thing VALUES (1)");
    if (++tries < 3) {
      throw TransientError("locked");
    }
  });
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(connection->query("SELECT COUNT(*) FROM thing").front().integer(0), 1);
}

TEST_P(Databases, PatienceEnds) {
  const auto connection = open();
  EXPECT_EQ(testing_errors::error_of([&] {
              in_transaction(
                  *connection, [] { throw TransientError("the table is locked"); }, 0);
            }),
            "the fleet's database does not answer\n"
            "  got:      the table is locked\n"
            "  hint:     see what holds it; what was finished is kept, run the command again");
}

TEST_P(Databases, TablesOfAnotherVersionAreRefused) {
  const auto connection = open();
  connection->execute("UPDATE fleet_version SET version = 99");
  EXPECT_EQ(testing_errors::error_of([&] { return prepare_tables(*connection); }),
            "the fleet was made by another version\n"
            "  expected: tables of version 1\n"
            "  got:      99\n"
            "  hint:     use that version of Understudy, or make a new fleet");
}

TEST_P(Databases, AnEmptyOneIsNoFleet) {
  const auto connection = connect(url(), Opening::kCreate, 1);
  EXPECT_EQ(testing_errors::error_of(
                [&] { return prepare_tables(*connection, Opening::kExisting, "fleet.db"); }),
            "no fleet found\n"
            "  file:     fleet.db\n"
            "  expected: a fleet's tables\n"
            "  got:      a database without any\n"
            "  hint:     understudy fleet init makes them; or restore a copy of the fleet");
  prepare_tables(*connection);
  prepare_tables(*connection, Opening::kExisting);
}

TEST_P(Databases, OtherTablesAreLeftAlone) {
  const auto connection = connect(url(), Opening::kCreate, 1);
  connection->execute("CREATE TABLE job (a BIGINT)");
  EXPECT_THROW(prepare_tables(*connection), et_schema::Error);
  EXPECT_TRUE(connection->query("SELECT a FROM job").empty());
}

TEST_P(Databases, ManyMayMakeTheTablesAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] { set_setting(*open(), "who", "any"); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(setting(*open(), "who"), "any");
}

TEST_P(Databases, WritersBesideEachOtherLoseNothing) {
  open()->execute("CREATE TABLE counter (a BIGINT)");
  open()->execute("INSERT INTO counter VALUES (0)");
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      const auto connection = open();
      for (int k = 0; k < kEach; ++k) {
        in_transaction(*connection, [&] { connection->execute("UPDATE counter SET a = a + 1"); });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(open()->query("SELECT a FROM counter").front().integer(0), kThreads * kEach);
}

TEST(Sqlite, ALockedDatabaseMayPass) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.path() + "/fleet.db";
  const auto holder = open_fleet(path, Opening::kCreate);
  holder->begin();
  const auto other = connect(path, Opening::kExisting, 0.01);
  EXPECT_THROW(other->begin(), TransientError);
  holder->roll_back();
  other->begin();
  other->commit();
}

TEST(Sqlite, WaitsForWhoHoldsIt) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.path() + "/fleet.db";
  const auto holder = open_fleet(path, Opening::kCreate);
  holder->begin();
  set_setting(*holder, "a", "first");
  std::thread other([&path] {
    const auto connection = open_fleet(path, Opening::kExisting);
    in_transaction(*connection, [&] { set_setting(*connection, "a", "second"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  holder->commit();
  other.join();
  EXPECT_EQ(setting(*holder, "a"), "second");
}

TEST(Sqlite, NoFleetIsThere) {
  EXPECT_EQ(
      testing_errors::error_of([&] { return open_fleet("/nowhere/fleet.db", Opening::kExisting); }),
      "no fleet found\n"
      "  file:     /nowhere/fleet.db\n"
      "  expected: a fleet's database\n"
      "  got:      no such file\n"
      "  hint:     make one: understudy fleet init /nowhere/fleet.db");
}

TEST(Sqlite, ADamagedFileIsNamed) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.write("fleet.db", std::string(8192, 'x'));
  EXPECT_EQ(testing_errors::error_of([&] { return open_fleet(path, Opening::kExisting); }),
            testing_errors::told(
                "the fleet's database is damaged", "file: " + path, "got: file is not a database",
                "hint: restore the copy that `understudy fleet gc --backup` made"));
}

TEST(Sqlite, AValueOfAnotherTypeIsDamage) {
  const testing_files::TemporaryFolder folder;
  const auto connection = connect(folder.path() + "/fleet.db", Opening::kCreate, 1);
  const Rows rows = connection->query("SELECT 'text', 7");
  EXPECT_EQ(testing_errors::error_of(et_schema::ErrorKind::kBadInput,
                                     [&] { return rows.front().integer(0); }),
            testing_errors::told(
                "the fleet's database is damaged", "file: " + folder.path() + "/fleet.db",
                "expected: a whole number", "got: a value of another type",
                "hint: restore the copy that `understudy fleet gc --backup` made"));
  EXPECT_THROW(static_cast<void>(rows.front().real(0)), et_schema::Error);
  EXPECT_THROW(static_cast<void>(rows.front().text(1)), et_schema::Error);
}

TEST(Sqlite, ACopyIsWhole) {
  const testing_files::TemporaryFolder folder;
  const auto connection = open_fleet(folder.path() + "/fleet.db", Opening::kCreate);
  set_setting(*connection, "a", "b");
  connection->back_up(folder.path() + "/copy.db");
  set_setting(*connection, "a", "c");
  EXPECT_EQ(setting(*open_fleet(folder.path() + "/copy.db", Opening::kExisting), "a"), "b");
}

TEST(Addresses, AreShownWithoutTheirPassword) {
  EXPECT_EQ(without_password("postgresql://ann:secret@db.example:5432/fleet?sslmode=require"),
            "postgresql://ann:***@db.example:5432/fleet?sslmode=require");
  EXPECT_EQ(without_password("postgres://ann:se@cr:et@db/fleet"), "postgres://ann:***@db/fleet");
  EXPECT_EQ(without_password("postgresql://db/fleet?user=ann&password=se@cret&port=1"),
            "postgresql://db/fleet?user=ann&password=***&port=1");
  EXPECT_EQ(without_password("postgresql://ann@db:5432/fleet"), "postgresql://ann@db:5432/fleet");
  EXPECT_EQ(without_password("/data/a:b@c.db"), "/data/a:b@c.db");
}

}  // namespace
}  // namespace understudy::fleet
