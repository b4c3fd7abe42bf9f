// The pages of a job and of a night: what asks the database anew.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fleet/fingerprint/fingerprint.h"
#include "fleet/queue/queue.h"
#include "fleet/site_data.h"

namespace understudy::cli {
namespace {

/// What the results' environments are told by, by id.
void add_software(fleet::Connection& connection, const std::vector<fleet::Result>& results,
                  std::map<std::int64_t, std::string>& software) {
  for (const fleet::Result& result : results) {
    const auto [found, is_new] = software.try_emplace(result.environment);
    if (is_new) {
      const auto environment = fleet::find_environment(connection, result.environment);
      found->second = environment ? environment->software : "";
    }
  }
}

/// Whose work it was, of a job that is gone or of a benchmark that no job has
/// any more.
std::string name_of_former(fleet::Connection& connection, const SiteData& data,
                           const fleet::FinishedWork& work) {
  if (work.kind == fleet::kGenerateWork) {
    return "a job that was removed";
  }
  const auto benchmark = fleet::find_benchmark(connection, work.subject);
  for (const fleet::Event& event : data.events) {
    const bool is_change = event.kind == fleet::kChanged || event.kind == fleet::kDrifted;
    if (benchmark && is_change &&
        (event.benchmark_hash == benchmark->benchmark_hash ||
         nlohmann::json::parse(event.detail).value("before", "") == benchmark->benchmark_hash)) {
      return event.job + ", as it was";
    }
  }
  return "a benchmark that no job has";
}

}  // namespace

pages::BenchmarkData benchmark_data(fleet::Connection& connection, const SiteData& data,
                                    const fleet::Job& job) {
  pages::BenchmarkData page{.frame = data.frame,
                            .job = job,
                            .state = state_of(data, job),
                            .failing = failing_text(data, job)};
  const std::string hash = hash_of(data, job);
  for (std::size_t i = data.events.size(); i-- > 0;) {
    if (is_of_job(data.events[i], job.name, hash)) {
      page.events.push_back(data.events[i]);
    }
  }
  const fleet::Benchmark* const benchmark = benchmark_of(data, job);
  if (benchmark == nullptr) {
    return page;
  }
  page.benchmark = *benchmark;
  page.print = fleet::parse_fingerprint(benchmark->fingerprint, hash);
  for (const fleet::SeriesName& name : fleet::series_of_benchmark(connection, hash)) {
    pages::PlatformSeries series{
        .platform = name.platform,
        .results = fleet::series_of(connection, hash, name.platform, data.options.results)};
    add_software(connection, series.results, page.software);
    if (!series.results.empty() && !series.results.back().report.empty() &&
        !data.options.store.empty()) {
      series.report_href = pages::replay_file(series.results.back());
    }
    series.changes = fleet::series_changes(data.events, series.results);
    page.platforms.push_back(std::move(series));
  }
  // Where nobody ran it, a prediction stands in.
  for (const fleet::Result& result : data.newest) {
    if (result.benchmark_hash == hash && result.source == fleet::kPredicted) {
      page.platforms.push_back({.platform = result.platform, .results = {result}});
      add_software(connection, {result}, page.software);
    }
  }
  return page;
}

pages::NightData night_data(fleet::Connection& connection, const SiteData& data,
                            std::size_t place) {
  const std::vector<fleet::Night>& nights = data.nights;
  const fleet::Night& night = nights[place];
  pages::NightData page{
      .frame = data.frame, .night = night_of(data, night), .events = events_of_night(data, night)};
  page.before_href =
      place + 1 < nights.size() ? pages::night_file(nights[place + 1].id) : std::string();
  page.after_href = place > 0 ? pages::night_file(nights[place - 1].id) : std::string();
  for (const fleet::NightPlatform& platform : fleet::platforms_of_night(connection, night.id)) {
    page.platforms.push_back(platform.platform);
  }
  std::map<std::int64_t, const fleet::Job*> by_id;
  std::map<std::int64_t, const fleet::Job*> by_benchmark;
  for (const fleet::Job& job : data.jobs) {
    by_id.emplace(job.id, &job);
    by_benchmark.emplace(job.benchmark, &job);
  }
  for (const fleet::FinishedWork& work : fleet::finished_work(connection, night.id)) {
    const auto& jobs = work.kind == fleet::kGenerateWork ? by_id : by_benchmark;
    const auto found = jobs.find(work.subject);
    page.items.push_back(
        {found == jobs.end() ? name_of_former(connection, data, work) : found->second->name, work});
  }
  return page;
}

}  // namespace understudy::cli
