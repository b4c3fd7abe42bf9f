#include "fleet/records/nights.h"

#include <fmt/format.h>

#include "fleet/process/node.h"
#include "json_columns.h"

namespace understudy::fleet {
namespace {

constexpr const char* kNightColumns =
    "SELECT id, opened_utc, closed_utc, jobs, unchanged, summary FROM night ";

Night night_of(const Row& row) {
  Night night;
  row.into(night.id, night.opened_utc, night.closed_utc, night.jobs, night.unchanged);
  night.summary = object_text_of(row, 5, {"night", std::to_string(night.id), "summary"});
  return night;
}

std::optional<Night> first_of(const Rows& rows) {
  return rows.empty() ? std::nullopt : std::optional(night_of(rows.front()));
}

}  // namespace

std::optional<Night> open_night(Connection& connection) {
  return first_of(connection.query(std::string(kNightColumns) + "WHERE state = 'open' LIMIT 1"));
}

std::optional<Night> find_night(Connection& connection, std::int64_t id) {
  return first_of(connection.query(std::string(kNightColumns) + "WHERE id = $1", {id}));
}

std::vector<Night> last_nights(Connection& connection, std::size_t most) {
  return each_of(connection.query(fmt::format("{}ORDER BY id DESC LIMIT {}", kNightColumns, most)),
                 night_of);
}

std::int64_t add_night(Connection& connection, std::int64_t jobs, std::int64_t unchanged) {
  return connection
      .query(
          "INSERT INTO night (opened_utc, state, jobs, unchanged, options) "
          "VALUES ($1, 'open', $2, $3, '{}') RETURNING id",
          {now_utc(), jobs, unchanged})
      .front()
      .integer(0);
}

bool close_night(Connection& connection, std::int64_t night, const std::string& summary) {
  return connection.execute(
             "UPDATE night SET state = 'closed', closed_utc = $2, summary = $3 WHERE id = $1 AND "
             "state = 'open'",
             {night, now_utc(), summary}) > 0;
}

void lock_nights(Connection& connection) {
  if (connection.dialect() == Dialect::kPostgres) {
    connection.execute("LOCK TABLE night IN SHARE ROW EXCLUSIVE MODE");
  }
}

void join_night(Connection& connection, std::int64_t night, const std::string& platform) {
  connection.execute(
      "INSERT INTO night_platform (night, platform, options) VALUES ($1, $2, '{}') "
      "ON CONFLICT (night, platform) DO NOTHING",
      {night, platform});
}

std::vector<NightPlatform> platforms_of_night(Connection& connection, std::int64_t night) {
  return each_of(
      connection.query(
          "SELECT platform, beat FROM night_platform WHERE night = $1 ORDER BY platform", {night}),
      [](const Row& row) {
        return NightPlatform{row.text(0), row.integer(1)};
      });
}

}  // namespace understudy::fleet
