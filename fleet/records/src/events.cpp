#include "fleet/records/events.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "json_columns.h"

namespace understudy::fleet {
namespace {

constexpr const char* kEventColumns =
    "SELECT night, kind, job, benchmark_hash, platform, text, detail FROM event ";

std::vector<Event> events_of(const Rows& rows) {
  return each_of(rows, [](const Row& row) {
    Event event;
    row.into(event.night, event.kind, event.job, event.benchmark_hash, event.platform, event.text);
    event.detail = object_text_of(
        row, 6,
        {"event", fmt::format("(night {}, {}, {})", event.night, event.kind, event.job), "detail"});
    return event;
  });
}

}  // namespace

void put_event(Connection& connection, const Event& event) {
  connection.execute(
      "INSERT INTO event (night, kind, job, benchmark_hash, platform, text, detail) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (night, kind, job, platform) DO NOTHING",
      {event.night, event.kind, event.job, event.benchmark_hash, event.platform, event.text,
       event.detail});
}

std::vector<Event> events_of_night(Connection& connection, std::int64_t night) {
  return events_of(connection.query(
      std::string(kEventColumns) + "WHERE night = $1 ORDER BY kind, job, platform", {night}));
}

std::vector<Event> events_of_job(Connection& connection, const std::string& job) {
  if (job.empty()) {
    return events_of(connection.query(std::string(kEventColumns) + "ORDER BY night, kind, job"));
  }
  return events_of(connection.query(
      std::string(kEventColumns) + "WHERE job = $1 ORDER BY night, kind, platform", {job}));
}

std::map<std::string, std::string> first_benchmarks(Connection& connection) {
  std::map<std::string, std::string> hashes;
  for (const Row& row : connection.query(
           "SELECT job, detail FROM event WHERE kind = $1 ORDER BY night, id", {kChanged})) {
    const nlohmann::json detail = nlohmann::json::parse(object_text_of(
        row, 1, {"event", fmt::format("({}, {})", kChanged, row.text(0)), "detail"}));
    if (const auto before = detail.find("before"); before != detail.end()) {
      hashes.try_emplace(row.text(0), before->get<std::string>());
    }
  }
  return hashes;
}

std::optional<Event> last_change(Connection& connection, const std::string& benchmark_hash,
                                 const std::string& platform) {
  const std::vector<Event> events = events_of(connection.query(
      std::string(kEventColumns) +
          "WHERE benchmark_hash = $1 AND platform = $2 AND kind IN ('slower', 'faster', "
          "'recovered', 'change point') ORDER BY night DESC, id DESC LIMIT 1",
      {benchmark_hash, platform}));
  return events.empty() ? std::nullopt : std::optional(events.front());
}

std::vector<Event> told_once(std::vector<Event> events) {
  std::set<std::pair<std::int64_t, std::string>> drifted;
  for (const Event& event : events) {
    if (event.kind == kDrifted) {
      drifted.emplace(event.night, event.job);
    }
  }
  std::erase_if(events, [&](const Event& event) {
    return event.kind == kChanged && drifted.contains({event.night, event.job});
  });
  return events;
}

}  // namespace understudy::fleet
