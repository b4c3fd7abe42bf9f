// The pages of a job and of a night: what asks the database anew.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "et_schema/support/version.h"
#include "fleet/fingerprint/fingerprint.h"
#include "fleet/queue/queue.h"
#include "fleet/site_data.h"

namespace understudy::cli {
namespace {

pages::SeriesResult result_of(fleet::Connection& connection, const SiteData& data,
                              const fleet::Result& result,
                              std::map<std::int64_t, std::string>& software) {
  pages::SeriesResult row;
  row.night = result.night == 0 ? "–" : fmt::format("{}", result.night);
  const bool has_page = std::ranges::any_of(
      data.nights, [&](const fleet::Night& night) { return night.id == result.night; });
  row.night_href = has_page ? night_file(result.night) : "";
  row.date = result.date_utc;
  row.time = {result.median_ms, result.low_ms, result.high_ms};
  row.class_ms = result.class_ms;
  row.coverage = result.coverage;
  row.peak_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, result.peak_bytes));
  row.is_predicted = result.source == fleet::kPredicted;
  const auto [found, is_new] = software.try_emplace(result.environment);
  if (is_new) {
    const auto environment = fleet::find_environment(connection, result.environment);
    found->second = environment ? environment->software : "";
  }
  row.software = found->second;
  return row;
}

/// Where the series turned, by the events that nights have written.
std::vector<pages::ChangePointMark> changes_of(const SiteData& data, const std::string& hash,
                                               const std::string& platform,
                                               const std::vector<fleet::Result>& results) {
  std::vector<pages::ChangePointMark> changes;
  for (const fleet::Event& event : data.events) {
    if (event.kind != fleet::kChangePoint || event.benchmark_hash != hash ||
        event.platform != platform) {
      continue;
    }
    const auto first = std::ranges::find(results, event.night, &fleet::Result::night);
    if (first == results.end()) {
      continue;  // older than what is shown
    }
    const nlohmann::json detail = nlohmann::json::parse(event.detail);
    pages::ChangePointMark mark;
    mark.index = static_cast<std::size_t>(first - results.begin());
    mark.before_ms = detail.value("before_ms", 0.0);
    mark.after_ms = detail.value("after_ms", 0.0);
    // What the night's comparison named is in its own event.
    for (const fleet::Event& other : data.events) {
      if ((other.kind == fleet::kSlower || other.kind == fleet::kFaster) &&
          other.night == event.night && other.benchmark_hash == hash &&
          other.platform == platform) {
        mark.text = other.text;
      }
    }
    if (const std::size_t at = event.text.find("; with it changed "); at != std::string::npos) {
      mark.environment = {event.text.substr(at + std::string_view("; with it changed ").size())};
    }
    changes.push_back(std::move(mark));
  }
  return changes;
}

std::vector<std::pair<std::string, std::string>> facts_of(const fleet::Fingerprint& print) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (print.step_ms > 0) {
    facts.emplace_back("recorded step", fmt::format("{:.3f} ms", print.step_ms));
  }
  facts.emplace_back("operators", fmt::format("{}", print.operators.size()));
  facts.emplace_back("collectives", fmt::format("{}", print.collectives.size()));
  facts.emplace_back("losses", fmt::format("{}", print.losses));
  return facts;
}

}  // namespace

pages::BenchmarkData benchmark_data(fleet::Connection& connection, const SiteData& data,
                                    const fleet::Job& job) {
  pages::BenchmarkData page;
  page.job = job.name;
  page.job_path = job.path;
  page.fleet_name = data.options.fleet_name;
  page.fleet_href = "index.html";
  page.state = state_of(data, job);
  page.broken = job.broken;
  page.weight = job.weight;
  page.tags = tags_of(job);
  page.flags = fmt::format("{}", fmt::join(job.flags, " "));
  page.tool_version = et_schema::kToolVersion;
  for (std::size_t i = data.events.size(); i-- > 0;) {
    if (data.events[i].job == job.name) {
      page.events.push_back(event_of(data, data.events[i], true));
    }
  }
  const fleet::Benchmark* const benchmark = benchmark_of(data, job);
  if (benchmark == nullptr) {
    return page;
  }
  page.benchmark_hash = benchmark->benchmark_hash;
  page.generator = benchmark->generator;
  page.made = benchmark->made_utc;
  page.world_size = benchmark->world_size;
  const fleet::Fingerprint print =
      fleet::parse_fingerprint(benchmark->fingerprint, benchmark->benchmark_hash);
  page.class_share = print.class_share;
  page.facts = facts_of(print);
  std::map<std::int64_t, std::string> software;
  for (const fleet::SeriesName& name :
       fleet::series_of_benchmark(connection, benchmark->benchmark_hash)) {
    const std::vector<fleet::Result> results = fleet::series_of(
        connection, benchmark->benchmark_hash, name.platform, data.options.results);
    pages::PlatformSeries series{
        name.platform, pages::page_name("platform", name.platform), {}, {}};
    for (const fleet::Result& result : results) {
      series.results.push_back(result_of(connection, data, result, software));
    }
    if (!results.empty() && !results.back().report.empty() && !data.options.store.empty()) {
      series.results.back().report_href = replay_file(results.back());
    }
    series.changes = changes_of(data, benchmark->benchmark_hash, name.platform, results);
    page.platforms.push_back(std::move(series));
  }
  // Where nobody ran it, a prediction stands in.
  for (const fleet::Result& result : data.newest) {
    if (result.benchmark_hash == benchmark->benchmark_hash && result.source == fleet::kPredicted) {
      page.platforms.push_back({result.platform,
                                pages::page_name("platform", result.platform),
                                {result_of(connection, data, result, software)},
                                {}});
    }
  }
  return page;
}

pages::NightData night_data(fleet::Connection& connection, const SiteData& data,
                            std::size_t place) {
  const fleet::Night& night = data.nights[place];
  pages::NightData page;
  page.fleet_name = data.options.fleet_name;
  page.fleet_href = "index.html";
  page.tool_version = et_schema::kToolVersion;
  page.night = night_of(data, night);
  page.closed = night.closed_utc;
  page.before_href = place + 1 < data.nights.size() ? night_file(data.nights[place + 1].id) : "";
  page.after_href = place > 0 ? night_file(data.nights[place - 1].id) : "";
  for (const fleet::NightPlatform& platform : fleet::platforms_of_night(connection, night.id)) {
    page.platforms.push_back(platform.platform);
  }
  for (const fleet::Event& event : data.events) {
    if (event.night == night.id) {
      page.events.push_back(event_of(data, event, false));
    }
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
    pages::NightItem item;
    item.kind = work.kind;
    item.job =
        found == jobs.end() ? fmt::format("{} {}", work.kind, work.subject) : found->second->name;
    item.job_href = found == jobs.end() ? "" : job_file(found->second->name);
    item.platform = work.platform;
    item.state = work.outcome;
    item.text = work.detail;
    item.attempts = static_cast<std::uint64_t>(work.attempts);
    item.duration_s = work.seconds;
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace understudy::cli
