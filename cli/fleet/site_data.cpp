#include "fleet/site_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "et_schema/model/report.h"
#include "et_schema/support/statistics.h"
#include "et_schema/support/version.h"
#include "fleet/candidates.h"

namespace understudy::cli {
namespace {

/// The baseline that was asked for, else the platform on which most benchmarks
/// ran; the first by name of several.
std::string baseline_of(const SiteOptions& options, const std::vector<fleet::PlatformRow>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const fleet::PlatformRow& row : rows) {
    for (const auto& [platform, time] : row.times) {
      counts[platform] += time.is_predicted ? 0U : 1U;
    }
  }
  if (!options.baseline.empty() || counts.empty()) {
    return options.baseline;
  }
  return std::ranges::max_element(counts, {}, [](const auto& row) { return row.second; })->first;
}

/// Kinds of events in the order of their weight.
std::size_t weight_of(const std::string& kind) {
  const std::vector<std::string> order = {fleet::kBroken,    fleet::kSlower,  fleet::kChangePoint,
                                          fleet::kDrifted,   fleet::kChanged, fleet::kFaster,
                                          fleet::kRecovered, fleet::kUnjudged};
  return static_cast<std::size_t>(std::ranges::find(order, kind) - order.begin());
}

const fleet::Result* newest_of(const SiteData& data, const std::string& hash) {
  const fleet::Result* newest = nullptr;
  for (const fleet::Result& result : data.newest) {
    const bool is_newer = newest == nullptr || result.night > newest->night;
    if (result.benchmark_hash == hash && is_newer) {
      newest = &result;
    }
  }
  return newest;
}

/// The newest replay ÷ the median of up to ten before it.
double change_of(fleet::Connection& connection, const fleet::Result& newest) {
  constexpr std::size_t kBefore = 10;
  const std::vector<fleet::Result> results =
      fleet::series_of(connection, newest.benchmark_hash, newest.platform, kBefore + 1);
  std::vector<double> before;
  for (std::size_t i = 0; i + 1 < results.size(); ++i) {
    before.push_back(results[i].median_ms);
  }
  const std::optional<double> median = et_schema::median(std::move(before));
  return median && *median > 0 ? newest.median_ms / *median
                               : std::numeric_limits<double>::quiet_NaN();
}

/// The weightiest that happened to the job in the newest night, or that this
/// night found to have happened before; none of earlier ones.
const fleet::Event* news_of(const SiteData& data, const fleet::Job& job) {
  const std::string hash = hash_of(data, job);
  const fleet::Event* news = nullptr;
  for (const std::vector<fleet::Event>* events : {&data.events, &data.turned}) {
    for (const fleet::Event& event : *events) {
      if (event.night == data.nights.front().id && is_of_job(event, job.name, hash) &&
          (news == nullptr || weight_of(event.kind) < weight_of(news->kind))) {
        news = &event;
      }
    }
  }
  return news;
}

/// Up to the end of a word; the whole stands on the job's own page.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 160;
  const std::size_t end = text.rfind(' ', kMost);
  return text.size() <= kMost || end == std::string::npos ? text : text.substr(0, end) + " …";
}

pages::FleetJob job_row(fleet::Connection& connection, const SiteData& data,
                        const fleet::Job& job) {
  pages::FleetJob row;
  row.name = job.name;
  row.state = state_of(data, job);
  row.weight = job.weight;
  row.tags = pages::tags_of(job);
  row.note = shortened(job.broken);
  if (const fleet::Event* const news = data.nights.empty() ? nullptr : news_of(data, job);
      news != nullptr && row.note.empty()) {
    row.note = fmt::format("night {}: {}", news->night, shortened(news->text));
  }
  if (row.note.empty()) {
    row.note = shortened(failing_text(data, job));
  }
  const fleet::Benchmark* const benchmark = benchmark_of(data, job);
  const fleet::Result* const result =
      benchmark == nullptr ? nullptr : newest_of(data, benchmark->benchmark_hash);
  if (result != nullptr) {
    row.newest = *result;
    if (result->source == fleet::kReplayed) {
      row.change = change_of(connection, *result);
    }
  }
  return row;
}

std::vector<pages::FleetPlatform> platform_rows_of(const SiteData& data) {
  std::map<std::string, pages::FleetPlatform> rows;
  for (const fleet::Result& result : data.newest) {
    pages::FleetPlatform& row = rows[result.platform];
    row.name = result.platform;
    row.has_page =
        std::ranges::find(data.platforms.platforms, result.platform,
                          &fleet::PlatformSummary::platform) != data.platforms.platforms.end();
    ++row.benchmarks;
    row.predicted += result.source == fleet::kPredicted ? 1U : 0U;
    row.newest = std::max(row.newest, result.date_utc);
  }
  std::vector<pages::FleetPlatform> list;
  for (auto& [name, row] : rows) {
    list.push_back(std::move(row));
  }
  return list;
}

/// Each job's newest time by class, weighted: Σ weight × class's share of the
/// job's time ÷ Σ weight.
std::map<std::string, double> class_shares(const SiteData& data) {
  std::map<std::string, double> shares;
  double weights = 0;
  for (const fleet::Job& job : data.jobs) {
    const fleet::Benchmark* const benchmark = benchmark_of(data, job);
    const fleet::Result* const result =
        benchmark == nullptr ? nullptr : newest_of(data, benchmark->benchmark_hash);
    double all_ms = 0;
    if (result != nullptr) {
      for (const auto& [name, ms] : result->class_ms) {
        all_ms += ms;
      }
    }
    if (all_ms <= 0) {
      continue;
    }
    weights += job.weight;
    for (const auto& [name, ms] : result->class_ms) {
      shares[name] += job.weight * ms / all_ms;
    }
  }
  for (auto& [name, share] : shares) {
    share /= weights;
  }
  return shares;
}

/// Not a number where one of them is no date, as that of a night which is still
/// open.
double seconds_between(const std::string& from_utc, const std::string& to_utc) {
  const auto seconds_of = [](const std::string& utc) {
    std::tm parts{};
    const char* const end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return end != nullptr && *end == '\0' ? static_cast<double>(timegm(&parts))
                                          : std::numeric_limits<double>::quiet_NaN();
  };
  return seconds_of(to_utc) - seconds_of(from_utc);
}

/// Series that a night found to have turned in nights before it: only its
/// summary says so.
std::vector<fleet::Event> turned_of(const fleet::Night& night) {
  std::vector<fleet::Event> turned;
  if (night.summary.empty()) {
    return turned;
  }
  const nlohmann::json summary = nlohmann::json::parse(night.summary);
  for (const nlohmann::json& row : summary.value("change_points", nlohmann::json::array())) {
    turned.push_back({.night = night.id,
                      .kind = fleet::kChangePoint,
                      .job = row.value("job", ""),
                      .benchmark_hash = "",
                      .platform = row.value("platform", ""),
                      .text = row.value("text", "")});
  }
  return turned;
}

/// Jobs that broke in a night before this one, and why.
std::map<std::string, std::string> still_broken_of(const fleet::Night& night) {
  std::map<std::string, std::string> jobs;
  if (night.summary.empty()) {
    return jobs;
  }
  const nlohmann::json summary = nlohmann::json::parse(night.summary);
  for (const nlohmann::json& row : summary.value("still_broken", nlohmann::json::array())) {
    jobs.emplace(row.value("job", ""), row.value("text", ""));
  }
  return jobs;
}

}  // namespace

SiteData read_site_data(fleet::Connection& connection, const SiteOptions& options) {
  SiteData data;
  data.options = options;
  data.jobs = fleet::all_jobs(connection);
  for (fleet::Benchmark& benchmark : fleet::current_benchmarks(connection)) {
    data.benchmarks.emplace(benchmark.id, std::move(benchmark));
  }
  data.nights = fleet::last_nights(connection, options.nights);
  data.events = fleet::told_once(fleet::events_of_job(connection, ""));
  data.newest = fleet::newest_results(connection);
  data.frame.fleet_name = options.fleet_name;
  data.frame.tool_version = et_schema::kToolVersion;
  for (const fleet::Job& job : data.jobs) {
    data.frame.jobs.insert(job.name);
  }
  for (const fleet::Night& night : data.nights) {
    data.frame.nights.insert(night.id);
  }
  if (!data.nights.empty()) {
    data.frame.date = data.nights.front().opened_utc;
    data.turned = turned_of(data.nights.front());
    data.still_broken = still_broken_of(data.nights.front());
  }
  const std::vector<fleet::PlatformRow> rows = platform_rows(connection);
  const std::string baseline = baseline_of(options, rows);
  if (!baseline.empty()) {
    data.platforms = fleet::compare_platforms(rows, baseline);
  }
  return data;
}

const fleet::Benchmark* benchmark_of(const SiteData& data, const fleet::Job& job) {
  const auto found = data.benchmarks.find(job.benchmark);
  return found == data.benchmarks.end() ? nullptr : &found->second;
}

bool is_of_job(const fleet::Event& event, const std::string& job,
               const std::string& benchmark_hash) {
  return event.job == job || (!event.platform.empty() && !benchmark_hash.empty() &&
                              event.benchmark_hash == benchmark_hash);
}

std::string hash_of(const SiteData& data, const fleet::Job& job) {
  const fleet::Benchmark* const benchmark = benchmark_of(data, job);
  return benchmark == nullptr ? "" : benchmark->benchmark_hash;
}

std::string failing_text(const SiteData& data, const fleet::Job& job) {
  const auto found = data.still_broken.find(job.name);
  if (found != data.still_broken.end() || data.nights.empty()) {
    return found == data.still_broken.end() ? "" : found->second;
  }
  const fleet::Event* const news = news_of(data, job);
  return news != nullptr && news->kind == fleet::kBroken ? news->text : "";
}

std::string state_of(const SiteData& data, const fleet::Job& job) {
  if (!job.broken.empty() || data.still_broken.contains(job.name)) {
    return fleet::kBroken;
  }
  const fleet::Event* const news = data.nights.empty() ? nullptr : news_of(data, job);
  return news != nullptr ? news->kind : job.benchmark == 0 ? "new" : "ok";
}

std::vector<fleet::Event> events_of_night(const SiteData& data, const fleet::Night& night) {
  std::vector<fleet::Event> events;
  std::ranges::copy_if(data.events, std::back_inserter(events),
                       [&](const fleet::Event& event) { return event.night == night.id; });
  const std::vector<fleet::Event> turned = turned_of(night);
  events.insert(events.end(), turned.begin(), turned.end());
  std::ranges::stable_sort(events, {},
                           [](const fleet::Event& event) { return weight_of(event.kind); });
  return events;
}

pages::FleetNight night_of(const SiteData& data, const fleet::Night& night) {
  pages::FleetNight row;
  row.night = night;
  row.duration_s = seconds_between(night.opened_utc, night.closed_utc);
  row.unchanged = static_cast<std::uint64_t>(std::max<std::int64_t>(0, night.unchanged));
  const auto count = [&](const char* kind) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        data.events,
        [&](const fleet::Event& event) { return event.night == night.id && event.kind == kind; }));
  };
  row.broken = count(fleet::kBroken);
  row.slower = count(fleet::kSlower);
  row.faster = count(fleet::kFaster);
  row.recovered = count(fleet::kRecovered);
  row.drifted = count(fleet::kDrifted);
  if (!night.summary.empty()) {
    const nlohmann::json summary = nlohmann::json::parse(night.summary);
    row.unchanged += summary.at("unchanged").value("by_content", std::uint64_t{0});
    row.generated = summary.value("made", std::uint64_t{0});
    row.replayed = summary.value("replayed", std::uint64_t{0});
    const auto told = [&](const char* key) {
      return summary.value(key, nlohmann::json::array()).size();
    };
    row.still_broken = told("still_broken");
    row.turned = told("change_points");
    row.unjudged = told("unjudged");
  }
  return row;
}

pages::FleetData fleet_data(fleet::Connection& connection, const SiteData& data) {
  pages::FleetData page;
  page.frame = data.frame;
  for (const fleet::Night& night : data.nights) {
    page.nights.push_back(night_of(data, night));
  }
  if (!data.nights.empty()) {
    page.events = events_of_night(data, data.nights.front());
  }
  for (const fleet::Job& job : data.jobs) {
    page.jobs.push_back(job_row(connection, data, job));
  }
  std::ranges::stable_sort(page.jobs, {},
                           [](const pages::FleetJob& job) { return weight_of(job.state); });
  page.platforms = platform_rows_of(data);
  page.subsets = usual_subsets(connection);
  page.class_share = class_shares(data);
  return page;
}

}  // namespace understudy::cli
