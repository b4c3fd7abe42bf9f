#include "finish.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "et_schema/base/assert.h"
#include "fleet/nightly/worker.h"
#include "fleet/queue/queue.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"

namespace understudy::fleet {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kSummaryVersion = 1;
constexpr std::chrono::milliseconds kPoll(500);

/// Waits until all workers' work is done. If a platform sends no heartbeat for `lease_s`, its work
/// is ended, so that nobody waits for a machine that is gone.
class Others {
 public:
  Others(Connection& connection, std::int64_t night, double lease_s)
      : connection_(connection), night_(night), lease_s_(lease_s) {}

  void wait(const OnProgress& on_progress) {
    while (!is_all_done(connection_, night_)) {
      on_progress({"waiting for other workers", 0, 0});
      give_up_silent();
      if (!is_all_done(connection_, night_)) {
        std::this_thread::sleep_for(kPoll);
      }
    }
  }

 private:
  void give_up_silent() {
    for (const NightPlatform& row : platforms_of_night(connection_, night_)) {
      const auto now = Clock::now();
      const auto [place, is_new] = heard_.try_emplace(row.platform, Heard{row.beat, now});
      if (place->second.beat != row.beat) {
        place->second = {row.beat, now};
      }
      if (std::chrono::duration<double>(now - place->second.since).count() >= lease_s_) {
        in_transaction(connection_, [&] {
          give_up_work(connection_, night_, row.platform, kWasNotRun,
                       fmt::format("no worker on {} was heard of", row.platform));
        });
      }
    }
  }

  struct Heard {
    std::int64_t beat = 0;
    Clock::time_point since;
  };
  Connection& connection_;
  std::int64_t night_;
  double lease_s_;
  std::map<std::string, Heard> heard_;
};

Json events_json(const std::vector<Event>& events, const std::string& kind) {
  Json list = Json::array();
  for (const Event& event : events) {
    if (event.kind == kind) {
      Json row = {{"job", event.job}, {"platform", event.platform}, {"text", event.text}};
      row["detail"] = Json::parse(event.detail);
      list.push_back(std::move(row));
    }
  }
  return list;
}

std::size_t count_outcome(const std::vector<FinishedWork>& work, const std::string& kind,
                          const std::string& outcome) {
  return static_cast<std::size_t>(std::ranges::count_if(
      work, [&](const FinishedWork& row) { return row.kind == kind && row.outcome == outcome; }));
}

Json texts_of(const std::vector<FinishedWork>& work, const std::string& outcome) {
  Json list = Json::array();
  for (const FinishedWork& row : work) {
    if (row.outcome == outcome) {
      list.push_back(row.detail);
    }
  }
  return list;
}

/// Lists jobs that broke in an earlier night and still have no new benchmark or no working replay.
Json still_broken(Connection& connection, std::int64_t night) {
  Json list = Json::array();
  for (const Job& job : all_jobs(connection)) {
    if (!job.broken.empty() && job.broken_night < night) {
      list.push_back({{"job", job.name},
                      {"platform", ""},
                      {"since_night", job.broken_night},
                      {"text", job.broken}});
    }
  }
  for (const FailingReplay& replay : failing_replays(connection)) {
    if (replay.since_night == night) {
      continue;
    }
    const auto benchmark = find_benchmark(connection, replay.benchmark);
    const std::vector<Job> jobs =
        benchmark ? jobs_of_benchmark_hash(connection, benchmark->benchmark_hash)
                  : std::vector<Job>();
    list.push_back({{"job", jobs.empty() ? "" : jobs.front().name},
                    {"platform", replay.platform},
                    {"since_night", replay.since_night},
                    {"text", replay.text}});
  }
  return list;
}

/// Returns the night that already reported this change as slower or faster; 0 if there is none.
std::int64_t told_in_night(const std::vector<Event>& events, const Event& point, bool is_slower) {
  constexpr std::int64_t kNear = 2;  // largest error of Otava's date, in nights
  const auto told = std::ranges::find_if(events, [&](const Event& event) {
    const bool is_alike =
        is_slower ? event.kind == kSlower : event.kind == kFaster || event.kind == kRecovered;
    return is_alike && event.benchmark_hash == point.benchmark_hash &&
           event.platform == point.platform && std::abs(event.night - point.night) <= kNear;
  });
  return told == events.end() ? 0 : told->night;
}

/// Returns the change points that this night showed first. They are dated to earlier nights.
Json new_change_points(Connection& connection, const std::vector<Event>& known_before) {
  Json list = Json::array();
  const auto is_known = [&](const Event& event) {
    return std::ranges::any_of(known_before, [&](const Event& other) {
      return other.night == event.night && other.job == event.job &&
             other.platform == event.platform;
    });
  };
  const std::vector<Event> events = events_of_job(connection, "");
  for (const Event& event : events) {
    if (event.kind != kChangePoint || is_known(event)) {
      continue;
    }
    const Json detail = Json::parse(event.detail);
    const bool is_slower = detail.value("after_ms", 0.0) > detail.value("before_ms", 0.0);
    const std::int64_t told = told_in_night(events, event, is_slower);
    list.push_back({{"job", event.job},
                    {"platform", event.platform},
                    {"night", event.night},
                    {"text", event.text},
                    {"is_slower", is_slower},
                    {"told_in_night", told == 0 ? Json() : Json(told)},
                    {"detail", detail}});
  }
  return list;
}

std::vector<Event> change_point_events(Connection& connection) {
  std::vector<Event> events = events_of_job(connection, "");
  std::erase_if(events, [](const Event& event) { return event.kind != kChangePoint; });
  return events;
}

Json summary_of(Connection& connection, const Night& night, Json points,
                const std::string& not_looked) {
  const std::vector<Event> events = events_of_night(connection, night.id);
  const std::vector<FinishedWork> work = finished_work(connection, night.id);
  return {{"format", "understudy-night"},
          {"version", kSummaryVersion},
          {"night", night.id},
          {"opened_utc", night.opened_utc},
          {"jobs", night.jobs},
          {"unchanged",
           {{"by_time", night.unchanged},
            {"by_content", count_outcome(work, kGenerateWork, kWasUnchanged) +
                               count_outcome(work, kGenerateWork, kStayedBroken)}}},
          {"made", count_outcome(work, kGenerateWork, kWasMade)},
          {"replayed", count_outcome(work, kReplayWork, kWasReplayed)},
          {"changed", events_json(events, kChanged)},
          {"drifted", events_json(events, kDrifted)},
          {"broken", events_json(events, kBroken)},
          {"still_broken", still_broken(connection, night.id)},
          {"slower", events_json(events, kSlower)},
          {"faster", events_json(events, kFaster)},
          {"recovered", events_json(events, kRecovered)},
          {"unjudged", events_json(events, kUnjudged)},
          {"change_points", std::move(points)},
          {"change_points_not_looked_for", not_looked},
          {"skipped", texts_of(work, kWasSkipped)},
          {"not_run", texts_of(work, kWasNotRun)}};
}

}  // namespace

std::string finish_night(Connection& connection, std::int64_t id, const NightOptions& options,
                         const OnProgress& on_progress) {
  Others(connection, id, options.lease_s).wait(on_progress);
  std::optional<Night> night = find_night(connection, id);
  UNDERSTUDY_ASSERT(night.has_value());
  if (night->closed_utc.empty()) {
    on_progress({"looking for change points", 0, 0});
    const std::vector<Event> known_before = change_point_events(connection);
    const std::string not_looked = add_change_point_events(connection, id, options);
    in_transaction(connection, [&] {
      const Json summary =
          summary_of(connection, *night, new_change_points(connection, known_before), not_looked);
      static_cast<void>(close_night(connection, id,
                                    summary.dump(-1, ' ', false, Json::error_handler_t::replace)));
    });
    night = find_night(connection, id);
  }
  return night->summary;
}

}  // namespace understudy::fleet
