#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Kinds of events.
inline constexpr const char* kChanged = "changed";  ///< a job has another benchmark
inline constexpr const char* kDrifted = "drifted";  ///< its new benchmark represents other work
inline constexpr const char* kBroken = "broken";    ///< no benchmark, or no replay
inline constexpr const char* kSlower = "slower";    ///< than in earlier nights
inline constexpr const char* kFaster = "faster";
inline constexpr const char* kRecovered = "recovered";  ///< as fast as before it became slower
inline constexpr const char* kUnjudged =
    "unjudged";  ///< changed while other programs ran on the machine
inline constexpr const char* kChangePoint = "change point";  ///< a series changed its level

/// Something that happened to a job, or to its benchmark on a platform, in a night.
struct Event {
  std::int64_t night = 0;
  std::string kind;
  std::string job;
  std::string benchmark_hash = {};  ///< empty if the event concerns only the job
  std::string platform = {};        ///< empty if the event concerns only the job
  std::string text;                 ///< a sentence
  std::string detail = "{}";        ///< JSON
};

/// Adds an event unless it exists.
void put_event(Connection& connection, const Event& event);
[[nodiscard]] std::vector<Event> events_of_night(Connection& connection, std::int64_t night);
/// Newest last. An empty job selects all jobs.
[[nodiscard]] std::vector<Event> events_of_job(Connection& connection, const std::string& job);
/// Returns for each job that ever changed the benchmark_hash before its first change.
[[nodiscard]] std::map<std::string, std::string> first_benchmarks(Connection& connection);
/// Returns the event of the last night in which the series changed; nothing if it never did.
[[nodiscard]] std::optional<Event> last_change(Connection& connection,
                                               const std::string& benchmark_hash,
                                               const std::string& platform);
/// Removes the kChanged events of jobs that drifted in the same night, since kDrifted implies them.
[[nodiscard]] std::vector<Event> told_once(std::vector<Event> events);

}  // namespace understudy::fleet
