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
inline constexpr const char* kDrifted = "drifted";  ///< and one that stands for other work
inline constexpr const char* kBroken = "broken";    ///< no benchmark, or no replay
inline constexpr const char* kSlower = "slower";    ///< than in the nights before
inline constexpr const char* kFaster = "faster";
inline constexpr const char* kRecovered = "recovered";  ///< as fast as before it became slower
inline constexpr const char* kUnjudged =
    "unjudged";  ///< a change, while others worked on the machine
inline constexpr const char* kChangePoint = "change point";  ///< where a series turned

/// Something that happened to a job, or to its benchmark on a platform, in a night.
struct Event {
  std::int64_t night = 0;
  std::string kind;
  std::string job;
  std::string benchmark_hash = {};  ///< empty where it is of the job alone
  std::string platform = {};        ///< likewise
  std::string text;                 ///< a sentence
  std::string detail = "{}";        ///< JSON
};

/// Adds an event, once.
void put_event(Connection& connection, const Event& event);
[[nodiscard]] std::vector<Event> events_of_night(Connection& connection, std::int64_t night);
/// Newest last. An empty text takes all.
[[nodiscard]] std::vector<Event> events_of_job(Connection& connection, const std::string& job);
/// By job the benchmark_hash that it had before it changed first, as far as it ever did.
[[nodiscard]] std::map<std::string, std::string> first_benchmarks(Connection& connection);
/// The event of the last night in which the series changed; none if it never did.
[[nodiscard]] std::optional<Event> last_change(Connection& connection,
                                               const std::string& benchmark_hash,
                                               const std::string& platform);
/// What drifted changed, too, by the same text: told once, as what it is more.
[[nodiscard]] std::vector<Event> told_once(std::vector<Event> events);

}  // namespace understudy::fleet
