#include "fleet/database/connection.h"

#include <cmath>
#include <limits>

#include "drivers.h"
#include "et_schema/support/assert.h"

namespace understudy::fleet {

Value value_of(double number) {
  return std::isfinite(number) ? Value(number) : Value();
}

bool Row::is_null(std::size_t column) const {
  return std::holds_alternative<std::monostate>(values_.at(column));
}

std::int64_t Row::integer(std::size_t column) const {
  const Value& value = values_.at(column);
  if (const auto* real = std::get_if<double>(&value)) {
    return std::llround(*real);  // sums of integers, in PostgreSQL
  }
  UNDERSTUDY_ASSERT(std::holds_alternative<std::int64_t>(value));
  return std::get<std::int64_t>(value);
}

double Row::real(std::size_t column) const {
  const Value& value = values_.at(column);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&value);
  UNDERSTUDY_ASSERT(real != nullptr || is_null(column));
  return real != nullptr ? *real : std::numeric_limits<double>::quiet_NaN();
}

std::string Row::text(std::size_t column) const {
  const auto* text = std::get_if<std::string>(&values_.at(column));
  UNDERSTUDY_ASSERT(text != nullptr || is_null(column));
  return text != nullptr ? *text : std::string();
}

bool is_postgres_url(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::unique_ptr<Connection> connect(const std::string& url, Opening opening, double patience_s) {
  return is_postgres_url(url) ? connect_postgres(url, patience_s)
                              : connect_sqlite(url, opening, patience_s);
}

}  // namespace understudy::fleet
