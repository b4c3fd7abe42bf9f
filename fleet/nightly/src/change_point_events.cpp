#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "et_schema/support/error.h"
#include "finish.h"
#include "fleet/analysis/change_points.h"
#include "fleet/database/transaction.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/results.h"

namespace understudy::fleet {
namespace {

constexpr std::size_t kMostNights = 200;

/// A series as Otava takes it.
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
  std::map<std::int64_t, std::string> names;
  for (const Job& job : all_jobs(connection)) {
    names.emplace(job.benchmark, job.name);
  }
  std::map<std::string, std::string> jobs;
  for (const Benchmark& benchmark : all_benchmarks(connection)) {
    if (const auto found = names.find(benchmark.id); found != names.end()) {
      jobs.emplace(benchmark.benchmark_hash, found->second);
    }
  }
  return jobs;
}

/// Fields of two environments that differ, as far as they are told here.
std::string software_change(Connection& connection, const Result& before, const Result& after) {
  if (before.environment == after.environment) {
    return "";
  }
  const auto a = find_environment(connection, before.environment);
  const auto b = find_environment(connection, after.environment);
  return a && b && a->software != b->software
             ? fmt::format("; with it changed {} → {}", a->software, b->software)
             : "; with it changed the environment";
}

void add_events(Connection& connection, const NightSeries& series, const std::string& job,
                const std::vector<ChangePoint>& points) {
  for (const ChangePoint& point : points) {
    const Result& first = series.results[point.index];
    const Result& before = series.results[point.index - 1];
    put_event(connection,
              {.night = first.night,
               .kind = kChangePoint,
               .job = job,
               .benchmark_hash = series.name.benchmark_hash,
               .platform = series.name.platform,
               .text = fmt::format("{:.2f} times as long since {}: {:.3f} → {:.3f} ms{}",
                                   point.after / point.before, first.date_utc, point.before,
                                   point.after, software_change(connection, before, first)),
               .detail = fmt::format(R"({{"before_ms":{:.6g},"after_ms":{:.6g},"p":{:.3g}}})",
                                     point.before, point.after, point.p_value)});
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
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto job = jobs.find(all[i].name.benchmark_hash);
        add_events(connection, all[i], job == jobs.end() ? "" : job->second, found[i]);
      }
    });
  } catch (const et_schema::Error& error) {
    return error.summary() + ": " + error.context().got;
  }
  return "";
}

}  // namespace understudy::fleet
