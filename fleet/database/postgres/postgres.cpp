#include <fmt/format.h>

#include <optional>
#include <pqxx/pqxx>
#include <utility>

#include "drivers.h"
#include "et_schema/base/error.h"

namespace understudy::fleet {
namespace {

// Object ids of PostgreSQL's own types, the same in every installation (pg_type.dat).
constexpr pqxx::oid kInt8 = 20;
constexpr pqxx::oid kInt2 = 21;
constexpr pqxx::oid kInt4 = 23;
constexpr pqxx::oid kFloat4 = 700;
constexpr pqxx::oid kFloat8 = 701;
constexpr pqxx::oid kNumeric = 1700;

Value value_of(const pqxx::field& field) {
  if (field.is_null()) {
    return {};
  }
  switch (field.type()) {
    case kInt2:
    case kInt4:
    case kInt8:
      return field.as<std::int64_t>();
    case kFloat4:
    case kFloat8:
    case kNumeric:
      return field.as<double>();
    default:
      return std::string(field.c_str(), field.size());
  }
}

std::optional<std::string> text_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *integer);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return fmt::format("{}", *real);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  return std::nullopt;
}

class Postgres : public Connection {
 public:
  Postgres(std::string url, double patience_s) : url_(std::move(url)) {
    with_patience(
        patience_s, [this] { open(); },
        [this](const char* got) {
          return et_schema::usage_error("no PostgreSQL server answers",
                                        {.file = without_password(url_),
                                         .got = got,
                                         .hint = "see that it runs and that the address is right"});
        });
  }

  [[nodiscard]] Dialect dialect() const override { return Dialect::kPostgres; }

  Rows query(const std::string& sql, const Values& parameters) override {
    Rows rows;
    for (const pqxx::row& row : run(sql, parameters)) {
      Values values;
      for (const pqxx::field& field : row) {
        values.push_back(value_of(field));
      }
      rows.emplace_back(std::move(values));
    }
    return rows;
  }

  std::uint64_t execute(const std::string& sql, const Values& parameters) override {
    return static_cast<std::uint64_t>(run(sql, parameters).affected_rows());
  }

  void begin() override {
    guarded([&] { transaction_ = std::make_unique<pqxx::work>(connected()); });
  }
  void commit() override {
    guarded([&] { transaction_->commit(); });
    transaction_.reset();
  }
  void roll_back() override {
    try {
      transaction_.reset();
    } catch (...) {
      connection_.reset();  // the connection is lost, and uncommitted changes with it
    }
  }
  void reconnect() override {
    transaction_.reset();
    connection_.reset();
    open();
  }
  void back_up(const std::string& path) override {
    throw et_schema::usage_error(
        "a server's database is not copied from here",
        {.field = "--backup", .got = path, .hint = "run pg_dump on its address"});
  }

 private:
  void open() {
    guarded([&] { connection_ = std::make_unique<pqxx::connection>(url_); });
  }
  pqxx::connection& connected() {
    if (!connection_) {
      throw TransientError("the server is gone");
    }
    return *connection_;
  }

  template <typename Body>
  auto guarded(Body&& body) -> decltype(body()) {
    try {
      return body();
    } catch (const pqxx::broken_connection& error) {
      throw TransientError(error.what());
    } catch (const pqxx::in_doubt_error& error) {
      throw TransientError(error.what());
    } catch (const pqxx::sql_error& error) {
      const std::string state = error.sqlstate();
      // Serialization failures and deadlocks; a server that stops or starts; too many connections.
      if (state.starts_with("40") || state.starts_with("57P") || state.starts_with("53") ||
          state.starts_with("08") || state.starts_with("55P")) {
        throw TransientError(error.what());
      }
      throw et_schema::run_failed("the fleet's database failed",
                                  {.file = without_password(url_), .got = error.what()});
    }
  }

  pqxx::result run(const std::string& sql, const Values& parameters) {
    std::vector<std::optional<std::string>> texts;
    for (const Value& value : parameters) {
      texts.push_back(text_of(value));
    }
    std::vector<const char*> pointers;
    for (const auto& text : texts) {
      pointers.push_back(text ? text->c_str() : nullptr);
    }
    return guarded([&] {
      const auto dynamic = pqxx::prepare::make_dynamic_params(pointers);
      if (transaction_) {
        return transaction_->exec_params(sql, dynamic);
      }
      pqxx::nontransaction alone(connected());
      return alone.exec_params(sql, dynamic);
    });
  }

  std::string url_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::work> transaction_;
};

}  // namespace
}  // namespace understudy::fleet

extern "C" understudy::fleet::Connection* understudy_connect_postgres(const std::string& url,
                                                                      double patience_s) {
  return new understudy::fleet::Postgres(url, patience_s);
}
