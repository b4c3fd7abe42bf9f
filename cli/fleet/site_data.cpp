#include "site_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "candidates.h"
#include "et_schema/base/version.h"

namespace understudy::cli {
namespace {

/// Returns true if the event is of the job itself, or of a replay of the benchmark that the job
/// shares with others.
bool is_of_job(const fleet::Event& event, const fleet::Job& job) {
  return event.job == job.name || (!event.platform.empty() && !job.benchmark_hash.empty() &&
                                   event.benchmark_hash == job.benchmark_hash);
}

/// Returns the requested baseline, else the platform that ran most benchmarks, the first by name
/// among several.
std::string baseline_of(const SiteOptions& options, const std::vector<fleet::PlatformRow>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const fleet::PlatformRow& row : rows) {
    for (const auto& [platform, time] : row.times) {
      counts[platform] += time.is_predicted() ? 0U : 1U;
    }
  }
  if (!options.baseline.empty() || counts.empty()) {
    return options.baseline;
  }
  return std::ranges::max_element(counts, {}, [](const auto& row) { return row.second; })->first;
}

/// Shortens a text at the end of a word; the job's own page has the whole text.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 160;
  const std::size_t end = text.rfind(' ', kMost);
  return text.size() <= kMost || end == std::string::npos ? text : text.substr(0, end) + " …";
}

/// Returns the change points that this night found in earlier nights. They are only in its summary.
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
                      .platform = row.value("platform", ""),
                      .text = row.value("text", "")});
  }
  return turned;
}

/// Returns the jobs that broke in an earlier night, and why.
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

std::size_t weight_of(const std::string& kind) {
  const std::vector<std::string> order = {fleet::kBroken,    fleet::kSlower,  fleet::kChangePoint,
                                          fleet::kDrifted,   fleet::kChanged, fleet::kFaster,
                                          fleet::kRecovered, fleet::kUnjudged};
  return static_cast<std::size_t>(std::ranges::find(order, kind) - order.begin());
}

const fleet::Result* SiteData::newest_of(const fleet::Job& job) const {
  const fleet::Result* found = nullptr;
  for (const fleet::Result& result : newest) {
    const bool is_newer = found == nullptr || result.night > found->night;
    if (result.benchmark_hash == job.benchmark_hash && is_newer) {
      found = &result;
    }
  }
  return found;
}

/// Returns the most important event of the job in the newest night, including earlier changes that
/// this night detected; null if there is none.
const fleet::Event* SiteData::news_of(const fleet::Job& job) const {
  const fleet::Event* news = nullptr;
  for (const std::vector<fleet::Event>* list : {&events, &turned}) {
    for (const fleet::Event& event : *list) {
      if (!nights.empty() && event.night == nights.front().id && is_of_job(event, job) &&
          (news == nullptr || weight_of(event.kind) < weight_of(news->kind))) {
        news = &event;
      }
    }
  }
  return news;
}

std::string SiteData::failing_text(const fleet::Job& job) const {
  const auto found = still_broken.find(job.name);
  if (found != still_broken.end() || nights.empty()) {
    return found == still_broken.end() ? "" : found->second;
  }
  const fleet::Event* const news = news_of(job);
  return news != nullptr && news->kind == fleet::kBroken ? news->text : "";
}

std::string SiteData::state_of(const fleet::Job& job) const {
  if (!job.broken.empty() || still_broken.contains(job.name)) {
    return fleet::kBroken;
  }
  const fleet::Event* const news = news_of(job);
  return news != nullptr ? news->kind : job.benchmark == 0 ? "new" : "ok";
}

std::string SiteData::note_of(const fleet::Job& job) const {
  const fleet::Event* const news = news_of(job);
  if (news != nullptr && job.broken.empty()) {
    return fmt::format("night {}: {}", news->night, shortened(news->text));
  }
  return shortened(job.broken.empty() ? failing_text(job) : job.broken);
}

std::vector<fleet::Event> SiteData::events_of(const fleet::Job& job) const {
  std::vector<fleet::Event> own;
  std::ranges::copy_if(events, std::back_inserter(own),
                       [&job](const fleet::Event& event) { return is_of_job(event, job); });
  std::ranges::reverse(own);
  return own;
}

std::vector<fleet::Event> SiteData::events_of(const fleet::Night& night) const {
  std::vector<fleet::Event> own;
  std::ranges::copy_if(events, std::back_inserter(own),
                       [&night](const fleet::Event& event) { return event.night == night.id; });
  std::ranges::move(turned_of(night), std::back_inserter(own));
  std::ranges::stable_sort(own, {},
                           [](const fleet::Event& event) { return weight_of(event.kind); });
  return own;
}

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
    if (!night.summary.empty()) {
      data.frame.nights.insert(night.id);
    }
  }
  if (!data.nights.empty()) {
    data.frame.date = data.nights.front().opened_utc;
    data.turned = turned_of(data.nights.front());
    data.still_broken = still_broken_of(data.nights.front());
  }
  return data;
}

fleet::PlatformComparison compared_platforms(fleet::Connection& connection,
                                             const SiteOptions& options) {
  const std::vector<fleet::PlatformRow> rows = platform_rows(connection);
  const std::string baseline = baseline_of(options, rows);
  return baseline.empty() ? fleet::PlatformComparison{} : fleet::compare_platforms(rows, baseline);
}

}  // namespace understudy::cli
