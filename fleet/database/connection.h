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

/// A parameter of a statement, or the value of a column. The first alternative is NULL.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Returns NULL for numbers that are not finite: databases differ in how they store them.
[[nodiscard]] Value value_of(double number);

/// One row of a result. Columns count from 0. SQLite allows any type in any column, so accessors
/// throw Error (bad input) if a damaged or edited file holds another type.
class Row {
 public:
  explicit Row(std::vector<Value> values, std::shared_ptr<const std::string> file = nullptr)
      : values_(std::move(values)), file_(std::move(file)) {}
  [[nodiscard]] bool is_null(std::size_t column) const;
  [[nodiscard]] std::int64_t integer(std::size_t column) const;
  [[nodiscard]] double real(std::size_t column) const;       ///< NaN for NULL
  [[nodiscard]] std::string text(std::size_t column) const;  ///< empty for NULL
  /// Reads the first columns, in order, into the members of a record.
  void into(auto&... members) const {
    std::size_t column = 0;
    (read(column++, members), ...);
  }
  /// The database's file; empty if it is not a file.
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

/// Returns `make(row)` for each row.
template <typename Make>
[[nodiscard]] auto each_of(const Rows& rows, Make make) {
  std::vector<std::invoke_result_t<Make, const Row&>> list;
  list.reserve(rows.size());
  std::transform(rows.begin(), rows.end(), std::back_inserter(list), make);
  return list;
}

/// A failure that may pass: a locked database, a lost server, a transaction to be repeated.
class TransientError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Dialect : std::uint8_t { kSqlite, kPostgres };

/// A connection, for use by one thread. SQL must be valid in both databases; parameters are $1, $2,
/// … Throws TransientError, or Error for lasting failures: failed (disk full), bad input (a damaged
/// file).
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] virtual Dialect dialect() const = 0;
  virtual Rows query(const std::string& sql, const Values& parameters = {}) = 0;
  /// Returns the number of changed rows.
  virtual std::uint64_t execute(const std::string& sql, const Values& parameters = {}) = 0;
  virtual void begin() = 0;
  virtual void commit() = 0;
  /// Does not throw; has no effect without a transaction.
  virtual void roll_back() = 0;
  /// Must be called after a TransientError: reopens a lost connection.
  virtual void reconnect() = 0;
  /// Writes a consistent copy to `path` while others write. Throws Error (usage) if the database
  /// has its own tools for that.
  virtual void back_up(const std::string& path) = 0;
};

enum class Opening : std::uint8_t {
  kExisting,  ///< the fleet must exist
  kCreate
};

/// Opens "postgresql://…", or else an SQLite file. Waits up to `patience_s` for a locked database.
/// Throws Error (usage) if there is no database, or if support for its kind is not built in.
[[nodiscard]] std::unique_ptr<Connection> connect(const std::string& url, Opening opening,
                                                  double patience_s);

/// True for "postgresql://…" and "postgres://…".
[[nodiscard]] bool is_postgres_url(std::string_view url);

/// Returns the address with its password replaced by "***", whether the password is before the host
/// or a parameter after the question mark.
[[nodiscard]] std::string without_password(const std::string& url);

/// Returns the Error (bad input) for content that this program never writes. Sets the hint.
[[nodiscard]] et_schema::Error damaged_database(et_schema::ErrorContext context);

/// How long a program retries while the database is locked or its server is gone.
inline constexpr double kPatienceSeconds = 180;

/// Runs `body` in a transaction. Retries transient failures for `patience_s` of monotonic time:
/// `body` may run several times, and only the last run takes effect. Throws Error (failed) at the
/// end of that time.
void in_transaction(Connection& connection, const std::function<void()>& body,
                    double patience_s = kPatienceSeconds);

}  // namespace understudy::fleet
