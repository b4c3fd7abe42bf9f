#include "fleet/database/connection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "drivers.h"
#include "et_schema/base/error.h"
#include "et_schema/base/shared_library.h"

namespace understudy::fleet {
namespace {

void run_once(Connection& connection, const std::function<void()>& body) {
  connection.begin();
  try {
    body();
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

}  // namespace

void Row::fail(std::string expected) const {
  throw damaged_database(
      {.file = file(), .expected = std::move(expected), .got = "a value of another type"});
}

Value value_of(double number) {
  return std::isfinite(number) ? Value(number) : Value();
}

bool Row::is_null(std::size_t column) const {
  return std::holds_alternative<std::monostate>(values_.at(column));
}

std::int64_t Row::integer(std::size_t column) const {
  const Value& value = values_.at(column);
  if (const auto* real = std::get_if<double>(&value)) {
    return std::llround(*real);  // PostgreSQL sums integers as numeric
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer == nullptr) {
    fail("a whole number");
  }
  return *integer;
}

double Row::real(std::size_t column) const {
  const Value& value = values_.at(column);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr && !is_null(column)) {
    fail("a number");
  }
  return real != nullptr ? *real : std::numeric_limits<double>::quiet_NaN();
}

std::string Row::text(std::size_t column) const {
  const auto* text = std::get_if<std::string>(&values_.at(column));
  if (text == nullptr && !is_null(column)) {
    fail("a text");
  }
  return text != nullptr ? *text : std::string();
}

bool is_postgres_url(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::string without_password(const std::string& url) {
  constexpr std::string_view kHidden = "***";
  constexpr std::string_view kParameter = "password=";
  if (!is_postgres_url(url)) {
    return url;
  }
  std::string shown = url;
  for (std::size_t at = shown.find(kParameter); at != std::string::npos;
       at = shown.find(kParameter, at + kParameter.size())) {
    const std::size_t begin = at + kParameter.size();
    const std::size_t end = std::min(shown.find('&', begin), shown.size());
    shown.replace(begin, end - begin, kHidden);
  }
  const std::size_t user = shown.find("//") + 2;
  // A password may contain unescaped characters that end the host's part, so search the last "@".
  const std::size_t host = shown.rfind('@', shown.find('?'));
  const std::size_t colon = shown.find(':', user);
  if (host != std::string::npos && host > user && colon < host) {
    shown.replace(colon + 1, host - colon - 1, kHidden);
  }
  return shown;
}

std::unique_ptr<Connection> connect_postgres(const std::string& url, double patience_s) {
  const std::string file = et_schema::module_directory() + "/understudy_postgres.so";
  const et_schema::SharedLibrary module(file, RTLD_LOCAL, [&](std::string, std::string got) {
    return et_schema::usage_error("PostgreSQL cannot be used here",
                                  {.file = without_password(url),
                                   .expected = file + " and the libraries that it needs",
                                   .got = std::move(got),
                                   .hint = "install libpq5; a build needs libpqxx-dev"});
  });
  Connection* (*make)(const std::string&, double) = nullptr;
  module.find(make, "understudy_connect_postgres");
  return std::unique_ptr<Connection>(make(url, patience_s));
}

std::unique_ptr<Connection> connect(const std::string& url, Opening opening, double patience_s) {
  return is_postgres_url(url) ? connect_postgres(url, patience_s)
                              : connect_sqlite(url, opening, patience_s);
}

et_schema::Error damaged_database(et_schema::ErrorContext context) {
  context.hint = "restore the copy that `understudy fleet gc --backup` made";
  return et_schema::bad_input("the fleet's database is damaged", std::move(context));
}

void in_transaction(Connection& connection, const std::function<void()>& body, double patience_s) {
  bool is_first = true;
  with_patience(
      patience_s,
      [&] {
        try {
          if (!is_first) {
            connection.reconnect();
          }
        } catch (const TransientError&) {
          // The server is still gone: begin() throws TransientError again.
        }
        is_first = false;
        run_once(connection, body);
      },
      [](const char* got) {
        return et_schema::run_failed(
            "the fleet's database does not answer",
            {.got = got,
             .hint = "see what holds it; what was finished is kept, run the command again"});
      });
}

}  // namespace understudy::fleet
