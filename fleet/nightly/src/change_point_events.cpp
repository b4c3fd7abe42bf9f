#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "finish.h"
#include "fleet/analysis/change_points.h"
#include "fleet/database/connection.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/results.h"

namespace understudy::fleet {
namespace {

constexpr std::size_t kMostNights = 200;

/// A series, as input for Otava.
struct NightSeries {
  SeriesName name;
  std::vector<Result> results;
  [[nodiscard]] std::vector<double> figures() const {
    std::vector<double> list;
    for (const Result& result : results) {
      list.push_back(result.median_ms);
    }
    return list;
  }
};

std::vector<NightSeries> series_of_night(Connection& connection, std::int64_t night) {
  std::vector<NightSeries> all;
  for (const SeriesName& name : series_with_results(connection, night)) {
    NightSeries series{name,
                       series_of(connection, name.benchmark_hash, name.platform, kMostNights)};
    if (series.results.size() >= kLeastFigures) {
      all.push_back(std::move(series));
    }
  }
  return all;
}

std::map<std::string, std::string> job_by_hash(Connection& connection) {
  std::map<std::string, std::string> jobs;
  for (const Job& job : all_jobs(connection)) {
    jobs.emplace(job.benchmark_hash, job.name);
  }
  return jobs;
}

/// Lists the fields in which two environments differ: "threads 2 → 1, torch 2.10 → 2.11".
std::string differences_of(const std::string& before, const std::string& after) {
  constexpr std::size_t kMost = 8;
  const nlohmann::json a = nlohmann::json::parse(before).flatten();
  const nlohmann::json b = nlohmann::json::parse(after).flatten();
  std::set<std::string> names;
  for (const nlohmann::json* environment : {&a, &b}) {
    for (const auto& field : environment->items()) {
      names.insert(field.key());
    }
  }
  const auto text_in = [](const nlohmann::json& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() || found->is_null() || found->empty() ? std::string("none")
           : found->is_string() ? found->get<std::string>()
                                : found->dump();
  };
  std::vector<std::string> texts;
  std::size_t more = 0;
  for (const std::string& name : names) {
    const std::string was = text_in(a, name);
    const std::string is = text_in(b, name);
    if (was != is && texts.size() < kMost) {
      texts.push_back(fmt::format("{} {} → {}", name.substr(name.rfind('/') + 1), was, is));
    } else {
      more += was != is ? 1U : 0U;
    }
  }
  if (more > 0) {
    texts.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string environment_change(Connection& connection, const Result& before, const Result& after) {
  const auto a = find_environment(connection, before.environment);
  const auto b = find_environment(connection, after.environment);
  if (before.environment == after.environment || !a || !b) {
    return "";
  }
  const std::string fields = differences_of(a->json, b->json);
  return fields.empty() ? "" : "; with it changed " + fields;
}

std::vector<ClassTimes> class_times(const std::vector<Result>& results) {
  std::vector<ClassTimes> times;
  for (const Result& result : results) {
    times.push_back(result.class_ms);
  }
  return times;
}

std::string text_of(const std::vector<ClassChange>& changes) {
  std::vector<std::string> texts;
  for (const ClassChange& change : changes) {
    texts.push_back(fmt::format("{} {:+.3f} ms", change.name, change.ms));
  }
  return texts.empty() ? "" : fmt::format(", of that {}", fmt::join(texts, ", "));
}

/// Returns true if the point was reported before, at most two results before or after its present
/// place: Otava may move a point when results are added.
bool is_known(const std::vector<Event>& events, const NightSeries& series,
              const ChangePoint& point) {
  constexpr std::ptrdiff_t kNear = 2;
  return std::ranges::any_of(events, [&](const Event& event) {
    if (event.kind != kChangePoint || event.benchmark_hash != series.name.benchmark_hash ||
        event.platform != series.name.platform) {
      return false;
    }
    const auto place = std::ranges::find(series.results, event.night, &Result::night);
    const nlohmann::json detail = nlohmann::json::parse(event.detail);
    const bool was_slower = detail.value("after_ms", 0.0) > detail.value("before_ms", 0.0);
    return place != series.results.end() && was_slower == (point.after > point.before) &&
           std::abs(place - series.results.begin() - static_cast<std::ptrdiff_t>(point.index)) <=
               kNear;
  });
}

void add_events(Connection& connection, const std::vector<Event>& events, const NightSeries& series,
                const std::string& job, const std::vector<ChangePoint>& points) {
  for (const ChangePoint& point : points) {
    if (is_known(events, series, point)) {
      continue;
    }
    const Result& first = series.results[point.index];
    const Result& before = series.results[point.index - 1];
    const auto classes = class_changes(class_times(series.results), point);
    nlohmann::json detail = {
        {"before_ms", point.before}, {"after_ms", point.after}, {"p", point.p_value}};
    for (const ClassChange& change : classes) {
      detail["class_ms"][change.name] = change.ms;
    }
    put_event(connection, {.night = first.night,
                           .kind = kChangePoint,
                           .job = job,
                           .benchmark_hash = series.name.benchmark_hash,
                           .platform = series.name.platform,
                           .text = fmt::format(
                               "{:.2f} times as long since night {}: {:.3f} → {:.3f} ms{}{}",
                               point.after / point.before, first.night, point.before, point.after,
                               text_of(classes), environment_change(connection, before, first)),
                           .detail = detail.dump()});
  }
}

}  // namespace

std::string add_change_point_events(Connection& connection, std::int64_t night,
                                    const NightOptions& options) {
  const std::vector<NightSeries> all = series_of_night(connection, night);
  if (all.empty()) {
    return "";
  }
  if (options.otava.empty()) {
    return "apache-otava is not installed: scripts/setup_fleet";
  }
  std::vector<std::vector<double>> figures;
  for (const NightSeries& series : all) {
    figures.push_back(series.figures());
  }
  try {
    const auto found = change_points(figures, options.otava);
    const std::map<std::string, std::string> jobs = job_by_hash(connection);
    in_transaction(connection, [&] {
      const std::vector<Event> events = events_of_job(connection, "");
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto job = jobs.find(all[i].name.benchmark_hash);
        add_events(connection, events, all[i], job == jobs.end() ? "" : job->second, found[i]);
      }
    });
  } catch (const et_schema::Error& error) {
    return error.summary() + ": " + error.context().got;
  }
  return "";
}

}  // namespace understudy::fleet
