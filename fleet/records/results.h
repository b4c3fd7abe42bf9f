#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Where figures come from.
inline constexpr const char* kReplayed = "replay";
inline constexpr const char* kPredicted = "prediction";

/// What was measured, or predicted, of a benchmark on a platform.
struct Result {
  std::int64_t id = 0;
  std::string benchmark_hash;
  std::string platform;
  std::int64_t environment = 0;
  std::int64_t night = 0;  ///< 0: in none, as imported ones are
  std::string date_utc;
  std::string source = kReplayed;
  double median_ms = 0;  ///< of an iteration
  double low_ms = 0;     ///< 95 % interval of the median; NaN: not known
  double high_ms = 0;
  double coverage = 0;  ///< by count; NaN: not known
  std::int64_t peak_bytes = 0;
  std::map<std::string, double> class_ms;  ///< by class of operators
  std::string report;                      ///< object of the store; empty once it was let go
};

/// Adds the environment, or finds it. `json`: its canonical text. Its id.
std::int64_t put_environment(Connection& connection, const std::string& software,
                             const std::string& json);
struct EnvironmentRow {
  std::string software;
  std::string json;
};
[[nodiscard]] std::optional<EnvironmentRow> find_environment(Connection& connection,
                                                             std::int64_t id);

/// Adds a result, once for a night and source. A result of no night (night 0) replaces the one
/// before.
void put_result(Connection& connection, const Result& result);

/// The results of a benchmark on a platform by one source, the oldest first; the newest `most`.
[[nodiscard]] std::vector<Result> series_of(Connection& connection,
                                            const std::string& benchmark_hash,
                                            const std::string& platform, std::size_t most,
                                            const std::string& source = kReplayed);
/// The newest result of each benchmark and platform, among benchmarks that some job has now; a
/// replay before a prediction.
[[nodiscard]] std::vector<Result> newest_results(Connection& connection);
/// Benchmarks and platforms with results, by replay, in the night or behind it.
struct SeriesName {
  std::string benchmark_hash;
  std::string platform;
};
[[nodiscard]] std::vector<SeriesName> series_with_results(Connection& connection,
                                                          std::int64_t since_night);
/// Platforms with replays of a benchmark.
[[nodiscard]] std::vector<SeriesName> series_of_benchmark(Connection& connection,
                                                          const std::string& benchmark_hash);
/// Lets go of the reports of nights before this one; figures stay. How many.
std::uint64_t forget_reports(Connection& connection, std::int64_t before_night);
/// Objects that reports are kept in.
[[nodiscard]] std::vector<std::string> report_objects(Connection& connection);

}  // namespace understudy::fleet
