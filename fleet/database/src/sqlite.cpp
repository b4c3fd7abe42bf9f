#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "drivers.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "fleet/database/connection.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

constexpr int kMsPerSecond = 1000;
// Pages of an untrusted file can show the same rows again and again.
constexpr double kMostSeconds = 60;            // of the processor, for a query
constexpr std::int64_t kMostBytes = 64 << 20;  // of a query's rows, beside a file's
constexpr std::int64_t kMostOfFile = 16;       // as often a file's bytes
constexpr std::int64_t kMostHeap = 1 << 30;    // that SQLite sorts in
constexpr int kStepsBetweenLooks = 100'000;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

[[noreturn]] void fail(sqlite3* database, const std::string& path) {
  const int code = sqlite3_errcode(database) & 0xff;
  const std::string text = sqlite3_errmsg(database);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    throw TransientError(text);
  }
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    throw damaged_database({.file = path, .got = text});
  }
  if (code == SQLITE_INTERRUPT) {
    throw damaged_database({.file = path,
                            .expected = fmt::format("queries of at most {} s", kMostSeconds),
                            .got = "one that takes longer"});
  }
  throw et_schema::run_failed(
      "the fleet's database failed",
      {.file = path, .got = text, .hint = "see that the disk has room and can be written"});
}

/// Returns true for a journal that ends as one with a "super-journal" does: SQLite deletes the file
/// of that name when it opens the database.
bool names_another_file(const std::string& journal) {
  constexpr std::string_view kMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7");
  std::ifstream file(journal, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(kMagic.size()), std::ios::end);
  std::string end(kMagic.size(), '\0');
  return file.read(end.data(), static_cast<std::streamsize>(end.size())) && end == kMagic;
}

/// Throws Error (usage) if other users can replace files beside the database, or a folder above it:
/// SQLite trusts these files, and no check before it opens them holds.
void refuse_shared_folder(const fs::path& database) {
  for (fs::path below = database; below.has_relative_path(); below = below.parent_path()) {
    const fs::path folder = below.parent_path();
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0) {
      continue;
    }
    const bool is_own = found.st_uid == ::geteuid() || found.st_uid == 0;
    // A user's private group has the user's number. Owners alone rename what is in a sticky folder.
    const mode_t others =
        found.st_gid == found.st_uid ? mode_t{S_IWOTH} : mode_t{S_IWOTH | S_IWGRP};
    const bool is_kept = below != database && (found.st_mode & S_ISVTX) != 0;
    if (!is_own || ((found.st_mode & others) != 0 && !is_kept)) {
      throw et_schema::usage_error(
          "the fleet's database cannot be opened",
          {.file = database.string(),
           .expected = "a folder that no other user can write",
           .got = fmt::format("{}, which {} can", folder.string(), is_own ? "others" : "its owner"),
           .hint = "several users share a fleet on PostgreSQL: postgresql://…"});
    }
  }
}

/// Must be called before SQLite opens the database: SQLite trusts the files beside it. Only the
/// journal is read: closing -shm would end the locks that this process's other connections have on
/// it, and another process would then cut it off below them. Returns the database without links.
std::string refuse_side_files(const std::string& path) {
  std::error_code error;
  const std::string database = fs::weakly_canonical(fs::absolute(path), error).string();
  refuse_shared_folder(database);
  for (const char* const ending : {"-journal", "-wal", "-shm"}) {
    const std::string file = database + ending;
    struct stat found {};
    if (::lstat(file.c_str(), &found) != 0) {
      continue;
    }
    const char* const got = !S_ISREG(found.st_mode) ? "something else"
                            : file.ends_with("-journal") && names_another_file(file)
                                ? "a journal that names another file to delete"
                                : nullptr;
    if (got != nullptr) {
      throw damaged_database(
          {.file = file, .expected = "a plain file of the database", .got = got});
    }
  }
  return database;
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Sqlite : public Connection {
 public:
  Sqlite(std::string path, int flags, double patience_s) : path_(std::move(path)) {
    const std::string database = refuse_side_files(path_);
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(database.c_str(), &opened,
                                     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK) {
      fail(database_.get(), path_);
    }
    sqlite3_hard_heap_limit64(kMostHeap);
    sqlite3_progress_handler(
        database_.get(), kStepsBetweenLooks,
        [](void* end) { return cpu_seconds() > *static_cast<const double*>(end) ? 1 : 0; }, &end_);
    sqlite3_busy_timeout(database_.get(), static_cast<int>(patience_s * kMsPerSecond));
    // An untrusted schema may have views and triggers: forbid them functions with side effects.
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    // With WAL and NORMAL, a killed process loses nothing. A power failure may lose the last
    // transactions as a whole, whose work is then repeated.
    write_ahead(patience_s);
    query("PRAGMA temp_store=MEMORY");
    query("PRAGMA synchronous=NORMAL");
    query("PRAGMA foreign_keys=ON");
    refuse_foreign_schema();
  }

  [[nodiscard]] Dialect dialect() const override { return Dialect::kSqlite; }

  Rows query(const std::string& sql, const Values& parameters) override {
    end_ = cpu_seconds() + kMostSeconds;
    sqlite3_stmt* statement = prepared(sql);
    bind(statement, parameters);
    Rows rows;
    std::int64_t bytes = 0;
    int code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
      rows.push_back(row_of(statement, bytes));
      if (bytes > kMostBytes && bytes > kMostBytes + kMostOfFile * bytes_of_file()) {
        sqlite3_reset(statement);
        throw damaged_database({.file = path_,
                                .expected = "rows that a file of its size can hold",
                                .got = fmt::format("more than {} in one table", rows.size())});
      }
    }
    if (code != SQLITE_DONE) {
      sqlite3_reset(statement);
      fail(database_.get(), path_);
    }
    sqlite3_reset(statement);
    return rows;
  }
  Rows query(const std::string& sql) { return query(sql, {}); }

  std::uint64_t execute(const std::string& sql, const Values& parameters) override {
    query(sql, parameters);
    return static_cast<std::uint64_t>(sqlite3_changes64(database_.get()));
  }

  // Acquires the write lock at once: SQLite may refuse it to a transaction that has already read.
  void begin() override { query("BEGIN IMMEDIATE"); }
  void commit() override { query("COMMIT"); }
  void roll_back() override {
    if (sqlite3_get_autocommit(database_.get()) == 0) {
      sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
  }
  void reconnect() override {}

  void back_up(const std::string& path) override {
    const std::string copy = refuse_side_files(path);
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2(copy.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    const Database target(opened);
    if (code != SQLITE_OK) {
      fail(target.get(), path);
    }
    sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", database_.get(), "main");
    if (backup == nullptr) {
      fail(target.get(), path);
    }
    sqlite3_backup_step(backup, -1);
    if (sqlite3_backup_finish(backup) != SQLITE_OK) {
      fail(target.get(), path);
    }
  }

 private:
  // SQLite's own timeout does not cover processes that open a new file at the same time: two
  // readers that both want to write its header would block each other for ever.
  void write_ahead(double patience_s) {
    with_patience(
        patience_s, [this] { query("PRAGMA journal_mode=WAL"); },
        [this](const char* got) {
          return et_schema::run_failed(
              "the fleet's database does not answer",
              {.file = path_, .got = got, .hint = "see what holds it, then try again"});
        });
  }

  /// Views and triggers would run in our queries. What a row of the schema is, its SQL decides.
  void refuse_foreign_schema() {
    const Rows rows = query(
        "SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND sql NOT LIKE 'CREATE TABLE %' "
        "AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %'");
    if (!rows.empty()) {
      throw damaged_database({.file = path_,
                              .expected = "tables and indices alone",
                              .got = et_schema::quote(rows.front().text(0))});
    }
  }

  sqlite3_stmt* prepared(const std::string& sql) {
    Statement& statement = statements_[sql];
    if (!statement) {
      sqlite3_stmt* made = nullptr;
      if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK) {
        statements_.erase(sql);
        fail(database_.get(), path_);
      }
      statement.reset(made);
    }
    return statement.get();
  }

  void bind(sqlite3_stmt* statement, const Values& parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      // SQLite treats "$1" as a name, and numbers names by their first occurrence.
      const int place = sqlite3_bind_parameter_index(statement, fmt::format("${}", i + 1).c_str());
      UNDERSTUDY_ASSERT(place > 0);
      const Value& value = parameters[i];
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        sqlite3_bind_int64(statement, place, *integer);
      } else if (const auto* real = std::get_if<double>(&value)) {
        sqlite3_bind_double(statement, place, *real);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8);
      } else {
        sqlite3_bind_null(statement, place);
      }
    }
  }

  [[nodiscard]] std::int64_t bytes_of_file() const {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path_, error);
    const std::uintmax_t behind = fs::file_size(path_ + "-wal", error);
    return static_cast<std::int64_t>(bytes) + (error ? 0 : static_cast<std::int64_t>(behind));
  }

  /// Adds what the row takes to `bytes`.
  [[nodiscard]] Row row_of(sqlite3_stmt* statement, std::int64_t& bytes) const {
    Values values;
    bytes += static_cast<std::int64_t>(sizeof(Row));
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      bytes += static_cast<std::int64_t>(sizeof(Value));
      switch (sqlite3_column_type(statement, i)) {
        case SQLITE_NULL:
          values.emplace_back();
          break;
        case SQLITE_INTEGER:
          values.emplace_back(std::int64_t{sqlite3_column_int64(statement, i)});
          break;
        case SQLITE_FLOAT:
          values.emplace_back(sqlite3_column_double(statement, i));
          break;
        default:
          bytes += sqlite3_column_bytes(statement, i);
          values.emplace_back(
              std::string(static_cast<const char*>(sqlite3_column_blob(statement, i)),
                          static_cast<std::size_t>(sqlite3_column_bytes(statement, i))));
      }
    }
    return Row(std::move(values), file_);
  }

  std::string path_;
  std::shared_ptr<const std::string> file_ = std::make_shared<const std::string>(path_);
  double end_ = 0;  ///< of the query that runs, in seconds of this thread
  Database database_;
  std::map<std::string, Statement> statements_;  // must be finalised before the database closes
};

}  // namespace

std::unique_ptr<Connection> connect_sqlite(const std::string& path, Opening opening,
                                           double patience_s) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (opening == Opening::kExisting && type != fs::file_type::regular) {
    const bool is_missing = type == fs::file_type::not_found;
    throw et_schema::usage_error(
        is_missing ? "no fleet found" : "the fleet's database cannot be opened",
        {.file = path,
         .expected = "a fleet's database",
         .got = is_missing ? "no such file" : (error ? error.message() : "no file of data"),
         .hint = is_missing ? fmt::format("make one: understudy fleet init {}", path) : ""});
  }
  const int create = opening == Opening::kCreate ? SQLITE_OPEN_CREATE : 0;
  return std::make_unique<Sqlite>(path, SQLITE_OPEN_READWRITE | create, patience_s);
}

}  // namespace understudy::fleet
