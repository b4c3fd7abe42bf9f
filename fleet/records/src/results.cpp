#include "fleet/records/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "et_schema/base/digest.h"
#include "fleet/records/events.h"
#include "json_columns.h"

namespace understudy::fleet {
namespace {

constexpr const char* kResultColumns =
    "r.id, r.benchmark_hash, r.platform, r.environment, r.night, r.date_utc, r.source, "
    "r.median_ms, r.low_ms, r.high_ms, r.coverage, r.peak_bytes, r.report, r.classes";

Result result_of(const Row& row) {
  constexpr std::size_t kClasses = 13;
  Result result;
  row.into(result.id, result.benchmark_hash, result.platform, result.environment, result.night,
           result.date_utc, result.source, result.median_ms, result.low_ms, result.high_ms,
           result.coverage, result.peak_bytes, result.report);
  result.class_ms = numbers_of(row, kClasses, {"result", std::to_string(result.id), "classes"});
  if (!(result.median_ms > 0)) {
    throw damaged_database({.file = row.file(),
                            .field = fmt::format("result.median_ms of row {}", result.id),
                            .expected = "a time above 0",
                            .got = fmt::format("{} ms", result.median_ms)});
  }
  return result;
}

}  // namespace

std::int64_t put_environment(Connection& connection, const std::string& software,
                             const std::string& json) {
  const Rows rows = connection.query(
      "INSERT INTO environment (hash, software, json) VALUES ($1, $2, $3) "
      "ON CONFLICT (hash) DO UPDATE SET software = excluded.software RETURNING id",
      {et_schema::digest_of(json), software, json});
  return rows.front().integer(0);
}

std::optional<EnvironmentRow> find_environment(Connection& connection, std::int64_t id) {
  const Rows rows = connection.query("SELECT software, json FROM environment WHERE id = $1", {id});
  if (rows.empty()) {
    return std::nullopt;
  }
  return EnvironmentRow{
      rows.front().text(0),
      object_text_of(rows.front(), 1, {"environment", std::to_string(id), "json"})};
}

void put_result(Connection& connection, const Result& result) {
  connection.execute("INSERT INTO platform (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
                     {result.platform});
  // A result of no night takes the place of the one before, as the newest.
  if (result.night == 0) {
    connection.execute(
        "DELETE FROM result WHERE benchmark_hash = $1 AND platform = $2 AND night = 0 AND source = "
        "$3",
        {result.benchmark_hash, result.platform, result.source});
  }
  connection.execute(
      "INSERT INTO result (benchmark_hash, platform, environment, night, date_utc, source, "
      "median_ms, low_ms, high_ms, coverage, peak_bytes, classes, report) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
      "ON CONFLICT (benchmark_hash, platform, night, source) DO NOTHING",
      {result.benchmark_hash, result.platform, result.environment, result.night, result.date_utc,
       result.source, value_of(result.median_ms), value_of(result.low_ms), value_of(result.high_ms),
       value_of(result.coverage), result.peak_bytes, nlohmann::json(result.class_ms).dump(),
       result.report.empty() ? Value() : Value(result.report)});
}

std::vector<Result> series_of(Connection& connection, const std::string& benchmark_hash,
                              const std::string& platform, std::size_t most,
                              const std::string& source) {
  std::vector<Result> results = each_of(
      connection.query(
          fmt::format("SELECT {} FROM result r WHERE r.platform = $1 AND r.benchmark_hash = $2 AND "
                      "r.source = $3 ORDER BY r.id DESC LIMIT {}",
                      kResultColumns, most),
          {platform, benchmark_hash, source}),
      result_of);
  std::ranges::reverse(results);
  return results;
}

std::vector<Result> judged_series_of(Connection& connection, const std::string& benchmark_hash,
                                     const std::string& platform, std::size_t most) {
  std::vector<Result> series = series_of(connection, benchmark_hash, platform, most);
  const auto unjudged = connection.query(
      "SELECT night FROM event WHERE benchmark_hash = $1 AND platform = $2 AND kind = $3",
      {benchmark_hash, platform, kUnjudged});
  std::erase_if(series, [&](const Result& result) {
    return std::ranges::any_of(unjudged,
                               [&](const Row& row) { return row.integer(0) == result.night; });
  });
  return series;
}

std::vector<Result> newest_results(Connection& connection) {
  // Uses the index: one lookup per benchmark, platform and source, whatever the series' lengths.
  return each_of(
      connection.query(fmt::format(
          "SELECT {} FROM (SELECT DISTINCT b.benchmark_hash AS hash FROM benchmark b JOIN job j ON "
          "j.benchmark = b.id) AS c CROSS JOIN platform p "
          "JOIN result r ON r.id = (SELECT MAX(x.id) FROM result x WHERE x.platform = p.name AND "
          "x.benchmark_hash = c.hash AND x.source = COALESCE((SELECT y.source FROM result y WHERE "
          "y.platform = p.name AND y.benchmark_hash = c.hash AND y.source = 'replay' LIMIT 1), "
          "'prediction')) ORDER BY r.platform, r.benchmark_hash",
          kResultColumns)),
      result_of);
}

std::vector<SeriesName> series_with_results(Connection& connection, std::int64_t since_night) {
  return each_of(
      connection.query(
          "SELECT DISTINCT benchmark_hash, platform FROM result WHERE night >= $1 AND source = "
          "'replay' ORDER BY platform, benchmark_hash",
          {since_night}),
      [](const Row& row) {
        return SeriesName{row.text(0), row.text(1)};
      });
}

std::vector<SeriesName> series_of_benchmark(Connection& connection,
                                            const std::string& benchmark_hash) {
  return each_of(
      connection.query(
          "SELECT p.name FROM platform p WHERE EXISTS (SELECT 1 FROM result r WHERE r.platform = "
          "p.name AND r.benchmark_hash = $1 AND r.source = 'replay') ORDER BY p.name",
          {benchmark_hash}),
      [&](const Row& row) {
        return SeriesName{benchmark_hash, row.text(0)};
      });
}

std::uint64_t forget_reports(Connection& connection, std::int64_t before_night) {
  return connection.execute(
      "UPDATE result SET report = NULL WHERE report IS NOT NULL AND night < $1", {before_night});
}

std::vector<std::string> report_objects(Connection& connection) {
  return each_of(connection.query("SELECT DISTINCT report FROM result WHERE report IS NOT NULL"),
                 [](const Row& row) { return row.text(0); });
}

}  // namespace understudy::fleet
