#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "et_schema/base/error.h"

namespace understudy::fleet {

/// A parameter, or what stands in a column. The first one is NULL.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// NULL for numbers that are not finite: databases do not agree on them.
[[nodiscard]] Value value_of(double number);

/// One row of a result. Columns count from 0. SQLite keeps any type in any column, so that a
/// damaged or edited file can hold another one: Error (bad input).
class Row {
 public:
  explicit Row(std::vector<Value> values, std::shared_ptr<const std::string> file = nullptr)
      : values_(std::move(values)), file_(std::move(file)) {}
  [[nodiscard]] bool is_null(std::size_t column) const;
  [[nodiscard]] std::int64_t integer(std::size_t column) const;
  [[nodiscard]] double real(std::size_t column) const;       ///< NaN for NULL
  [[nodiscard]] std::string text(std::size_t column) const;  ///< empty for NULL
  /// The first columns, in their order, into what a record has for them.
  void into(auto&... members) const {
    std::size_t column = 0;
    (read(column++, members), ...);
  }
  /// The database's; empty where it is no file.
  [[nodiscard]] std::string file() const { return file_ == nullptr ? "" : *file_; }

 private:
  [[noreturn]] void fail(std::string expected) const;
  void read(std::size_t column, std::string& member) const { member = text(column); }
  void read(std::size_t column, double& member) const { member = real(column); }
  void read(std::size_t column, std::int64_t& member) const { member = integer(column); }
  void read(std::size_t column, int& member) const { member = static_cast<int>(integer(column)); }

  std::vector<Value> values_;
  std::shared_ptr<const std::string> file_;
};
using Rows = std::vector<Row>;
using Values = std::vector<Value>;

/// What `make` makes of each row.
template <typename Make>
[[nodiscard]] auto each_of(const Rows& rows, Make make) {
  std::vector<std::invoke_result_t<Make, const Row&>> list;
  list.reserve(rows.size());
  std::transform(rows.begin(), rows.end(), std::back_inserter(list), make);
  return list;
}

/// What may pass: the database is locked, the server is gone or asks for a transaction again.
class TransientError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Dialect : std::uint8_t { kSqlite, kPostgres };

/// A connection of one thread. SQL is what both databases understand, with parameters $1, $2, …
/// Throws TransientError, or for what does not pass Error: failed (disk full), bad input (a damaged
/// file).
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] virtual Dialect dialect() const = 0;
  virtual Rows query(const std::string& sql, const Values& parameters = {}) = 0;
  /// The number of rows that were changed.
  virtual std::uint64_t execute(const std::string& sql, const Values& parameters = {}) = 0;
  virtual void begin() = 0;
  virtual void commit() = 0;
  /// Does not throw; without a transaction nothing happens.
  virtual void roll_back() = 0;
  /// After a TransientError: opens the connection again where it is lost.
  virtual void reconnect() = 0;
  /// A whole copy in `path`, made while others write. Throws Error (usage) where the database has
  /// tools of its own for that.
  virtual void back_up(const std::string& path) = 0;
};

enum class Opening : std::uint8_t {
  kExisting,  ///< a fleet must be there
  kCreate
};

/// Opens "postgresql://…", or else a file of SQLite's. `patience_s`: how long to wait for a
/// database that is locked. Throws Error (usage) where no database is, or none of its kind is built
/// in.
[[nodiscard]] std::unique_ptr<Connection> connect(const std::string& url, Opening opening,
                                                  double patience_s);

/// True for "postgresql://…" and "postgres://…".
[[nodiscard]] bool is_postgres_url(std::string_view url);

/// The address as it may be shown: "***" in the place of its password, before the host or behind
/// the question mark.
[[nodiscard]] std::string without_password(const std::string& url);

/// Error (bad input): the database holds what this program never writes there. The hint is set
/// here.
[[nodiscard]] et_schema::Error damaged_database(et_schema::ErrorContext context);

/// How long a database may be locked, or its server gone, before a program gives up.
inline constexpr double kPatienceSeconds = 180;

/// Runs `body` in a transaction, whole or not at all. What may pass is tried again, for
/// `patience_s` by this process' own clock: `body` may run several times, the last time alone
/// counts. Throws Error (failed) when patience is over.
void in_transaction(Connection& connection, const std::function<void()>& body,
                    double patience_s = kPatienceSeconds);

}  // namespace understudy::fleet
