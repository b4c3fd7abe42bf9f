#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "fleet/database/connection.h"
#include "testing/error_text.h"

namespace understudy::fleet {
namespace {

/// A new file in SQLite's first mode, whose write lock another program holds: it cannot be changed
/// to writing ahead, which SQLite says at once, whatever its time to wait.
class NewFileOfAnother : public ::testing::Test {
 protected:
  NewFileOfAnother() {
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &opened), SQLITE_OK);
    other_.reset(opened);
    run("CREATE TABLE other (a)");
    run("BEGIN IMMEDIATE");
  }

  [[nodiscard]] std::string path() const { return (folder_ / "fleet.db").string(); }
  void run(const char* sql) {
    EXPECT_EQ(sqlite3_exec(other_.get(), sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }

 private:
  testing_files::TemporaryFolder folder_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> other_{nullptr, &sqlite3_close};
};

TEST_F(NewFileOfAnother, IsWaitedFor) {
  constexpr double kPatienceS = 120;
  std::jthread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    run("COMMIT");
  });
  const auto connection = connect(path(), Opening::kCreate, kPatienceS);
  other.join();
  EXPECT_EQ(connection->query("PRAGMA journal_mode").front().text(0), "wal");
}

TEST_F(NewFileOfAnother, IsNamedWhenPatienceEnds) {
  EXPECT_EQ(testing_errors::error_of(
                [&] { const auto connection = connect(path(), Opening::kCreate, 0); }),
            "the fleet's database does not answer\n  file:     " + path() +
                "\n"
                "  got:      database is locked\n"
                "  hint:     see what holds it, then try again");
}

}  // namespace
}  // namespace understudy::fleet
