#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Source of a result.
inline constexpr const char* kReplayed = "replay";
inline constexpr const char* kPredicted = "prediction";

/// Measured or predicted figures of a benchmark on a platform.
struct Result {
  std::int64_t id = 0;
  std::string benchmark_hash;
  std::string platform;
  std::int64_t environment = 0;
  std::int64_t night = 0;  ///< 0: outside of any night, such as imported results
  std::string date_utc;
  std::string source = kReplayed;
  double median_ms = 0;  ///< of an iteration
  double low_ms = 0;     ///< 95 % interval of the median; NaN: not known
  double high_ms = 0;
  double coverage = 0;  ///< by count; NaN: not known
  std::int64_t peak_bytes = 0;
  std::map<std::string, double> class_ms;  ///< by class of operators
  std::string report;                      ///< object of the store; empty after forget_reports()
  [[nodiscard]] bool is_predicted() const { return source == kPredicted; }
};

/// Adds the environment unless it exists. `json` is its canonical text. Returns its id.
std::int64_t put_environment(Connection& connection, const std::string& software,
                             const std::string& json);
struct EnvironmentRow {
  std::string software;
  std::string json;
};
[[nodiscard]] std::optional<EnvironmentRow> find_environment(Connection& connection,
                                                             std::int64_t id);

/// Adds a result, once per night and source. A result outside of any night (night 0) replaces the
/// previous one.
void put_result(Connection& connection, const Result& result);

/// Returns a series' newest `most` results from one source, the oldest first.
[[nodiscard]] std::vector<Result> series_of(Connection& connection,
                                            const std::string& benchmark_hash,
                                            const std::string& platform, std::size_t most,
                                            const std::string& source = kReplayed);
/// Returns the replays among a series' newest `most` whose nights were judged, the oldest first: no
/// other is held against a later one.
[[nodiscard]] std::vector<Result> judged_series_of(Connection& connection,
                                                   const std::string& benchmark_hash,
                                                   const std::string& platform, std::size_t most);
/// Returns the newest result of each benchmark and platform, among benchmarks that jobs have now.
/// Replays take precedence over predictions.
[[nodiscard]] std::vector<Result> newest_results(Connection& connection);
/// A benchmark on a platform.
struct SeriesName {
  std::string benchmark_hash;
  std::string platform;
};
/// Returns the series that were replayed in `since_night` or later.
[[nodiscard]] std::vector<SeriesName> series_with_results(Connection& connection,
                                                          std::int64_t since_night);
/// Returns the platforms with replays of a benchmark.
[[nodiscard]] std::vector<SeriesName> series_of_benchmark(Connection& connection,
                                                          const std::string& benchmark_hash);
/// Clears the reports of nights before `before_night`; keeps the figures. Returns their number.
std::uint64_t forget_reports(Connection& connection, std::int64_t before_night);
/// Returns the objects that hold reports.
[[nodiscard]] std::vector<std::string> report_objects(Connection& connection);

}  // namespace understudy::fleet
