#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <set>

#include "candidates.h"
#include "et_schema/base/statistics.h"
#include "fleet/analysis/series_changes.h"
#include "fleet/fingerprint/fingerprint.h"
#include "fleet/queue/queue.h"
#include "site_data.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the newest replay ÷ the median of up to ten earlier ones.
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

/// Returns the seconds between two dates. NaN if one is not a date, as for a night in progress.
double seconds_between(const std::string& from_utc, const std::string& to_utc) {
  const auto seconds_of = [](const std::string& utc) {
    std::tm parts{};
    const char* const end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return end != nullptr && *end == '\0' ? static_cast<double>(timegm(&parts))
                                          : std::numeric_limits<double>::quiet_NaN();
  };
  return seconds_of(to_utc) - seconds_of(from_utc);
}

/// Returns "team=ads, tier=1".
std::string tags_of(const fleet::Job& job) {
  std::string text;
  for (const auto& [name, value] : job.tags) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

/// Returns the JSON of a job; unknown numbers are null.
Json job_json(fleet::Connection& connection, const SiteData& data, const fleet::Job& job) {
  const fleet::Result* const newest = data.newest_of(job);
  Json row = {{"name", job.name},
              {"state", data.state_of(job)},
              {"weight", job.weight},
              {"platform", newest == nullptr ? "" : newest->platform}};
  const auto add = [&](const char* key, double fleet::Result::*figure) {
    row[key] = newest == nullptr ? Json() : Json(newest->*figure);
  };
  add("ms", &fleet::Result::median_ms);
  add("low_ms", &fleet::Result::low_ms);
  add("high_ms", &fleet::Result::high_ms);
  row["change"] = newest != nullptr && newest->source == fleet::kReplayed
                      ? Json(change_of(connection, *newest))
                      : Json();
  add("coverage", &fleet::Result::coverage);
  row["tags"] = tags_of(job);
  row["note"] = data.note_of(job);
  return row;
}

Json jobs_json(fleet::Connection& connection, const SiteData& data) {
  std::vector<Json> rows;
  for (const fleet::Job& job : data.jobs) {
    rows.push_back(job_json(connection, data, job));
  }
  std::ranges::stable_sort(
      rows, {}, [](const Json& row) { return weight_of(row.at("state").get<std::string>()); });
  return rows;
}

Json platforms_json(const SiteData& data) {
  struct Row {
    std::uint64_t benchmarks = 0, predicted = 0;
    std::string newest;
  };
  std::map<std::string, Row> rows;
  for (const fleet::Result& result : data.newest) {
    Row& row = rows[result.platform];
    ++row.benchmarks;
    row.predicted += result.is_predicted() ? 1U : 0U;
    row.newest = std::max(row.newest, result.date_utc);
  }
  Json list = Json::array();
  for (const auto& [platform, row] : rows) {
    const bool has_page =
        std::ranges::find(data.platforms.platforms, platform, &fleet::PlatformSummary::platform) !=
        data.platforms.platforms.end();
    list.push_back({{"platform", platform},
                    {"benchmarks", row.benchmarks},
                    {"predicted", row.predicted},
                    {"newest", row.newest},
                    {"has_page", has_page}});
  }
  return list;
}

/// Returns the jobs of a subset, largest weight first, as many as fit in a cell.
std::string weightiest(const fleet::Selection& subset) {
  constexpr std::size_t kMost = 20;
  std::vector<fleet::SelectedJob> jobs = subset.jobs;
  std::ranges::stable_sort(jobs, std::greater{}, &fleet::SelectedJob::weight);
  jobs.resize(std::min(jobs.size(), kMost));
  std::string names;
  for (const fleet::SelectedJob& job : jobs) {
    names += (names.empty() ? "" : ", ") + job.job;
  }
  return names;
}

Json subsets_json(fleet::Connection& connection, const SiteData& data) {
  Json list = Json::array();
  for (const fleet::Selection& subset : usual_subsets(connection)) {
    list.push_back({{"subset", fmt::format("{} of {} jobs", subset.jobs.size(), data.jobs.size())},
                    {"benchmarks", subset.jobs.size()},
                    {"mix_distance", subset.mix_distance},
                    {"random_mix_distance", subset.random_mix_distance},
                    {"jobs", weightiest(subset)}});
  }
  return list;
}

/// Returns shares of time by class over all jobs: Σ weight × class's share of the job's time ÷ Σ
/// weight.
std::map<std::string, double> class_shares(const SiteData& data) {
  std::map<std::string, double> shares;
  double weights = 0;
  for (const fleet::Job& job : data.jobs) {
    const fleet::Result* const result = data.newest_of(job);
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

Json night_json(const SiteData& data, const fleet::Night& night) {
  const Json summary = night.summary.empty() ? Json::object() : Json::parse(night.summary);
  const auto count = [&](const char* kind) {
    return std::ranges::count_if(data.events, [&](const fleet::Event& event) {
      return event.night == night.id && event.kind == kind;
    });
  };
  const auto told = [&](const char* key) { return summary.value(key, Json::array()).size(); };
  const Json unchanged = summary.value("unchanged", Json::object());
  return {{"name", fmt::format("{}", night.id)},
          {"date", night.opened_utc},
          {"state", night.closed_utc.empty() ? "open" : "done"},
          {"jobs", night.jobs},
          {"unchanged", std::max<std::int64_t>(0, night.unchanged) +
                            unchanged.value("by_content", std::int64_t{0})},
          {"generated", summary.value("made", std::uint64_t{0})},
          {"replayed", summary.value("replayed", std::uint64_t{0})},
          {"broken", count(fleet::kBroken)},
          {"still_broken", told("still_broken")},
          {"slower", count(fleet::kSlower)},
          {"faster", count(fleet::kFaster)},
          {"recovered", count(fleet::kRecovered)},
          {"drifted", count(fleet::kDrifted)},
          {"turned", told("change_points")},
          {"unjudged", told("unjudged")},
          {"duration_s", seconds_between(night.opened_utc, night.closed_utc)}};
}

/// `with_nights`: adds the night of each event; on the page of a night all have the same.
Json events_json(const std::vector<fleet::Event>& events, bool with_nights) {
  Json list = Json::array();
  for (const fleet::Event& event : events) {
    list.push_back({{"night", with_nights ? fmt::format("{}", event.night) : ""},
                    {"kind", event.kind},
                    {"job", event.job},
                    {"text", event.text},
                    {"platform", event.platform}});
  }
  return list;
}

std::string software_of(fleet::Connection& connection, const fleet::Result& result) {
  const auto environment = fleet::find_environment(connection, result.environment);
  return environment ? environment->software : "";
}

Json series_json(fleet::Connection& connection, const std::string& platform,
                 const std::vector<fleet::Result>& results,
                 const std::vector<fleet::SeriesChange>& changes, const std::string& report) {
  Json rows = Json::array();
  for (const fleet::Result& result : results) {
    rows.push_back({{"night", result.night == 0 ? Json() : Json(fmt::format("{}", result.night))},
                    {"date", result.date_utc},
                    {"ms", result.median_ms},
                    {"low_ms", result.low_ms},
                    {"high_ms", result.high_ms},
                    {"coverage", result.coverage},
                    {"peak_bytes", std::max<std::int64_t>(0, result.peak_bytes)},
                    {"source", result.source},
                    {"software", software_of(connection, result)},
                    {"class_ms", result.class_ms}});
  }
  Json turns = Json::array();
  for (const fleet::SeriesChange& change : changes) {
    turns.push_back({{"index", change.index},
                     {"before_ms", change.before_ms},
                     {"after_ms", change.after_ms},
                     {"text", change.text},
                     {"environment", change.environment},
                     {"is_recovery", change.is_recovery}});
  }
  return {{"platform", platform},
          {"report", report},
          {"results", std::move(rows)},
          {"changes", std::move(turns)}};
}

/// Returns a series of results for each platform, then predictions for platforms without replays.
Json all_series(fleet::Connection& connection, const SiteData& data, const std::string& hash) {
  Json list = Json::array();
  const std::string& only = data.options.platform;
  for (const fleet::SeriesName& name : fleet::series_of_benchmark(connection, hash)) {
    if (!only.empty() && name.platform != only) {
      continue;
    }
    const std::vector<fleet::Result> results =
        fleet::series_of(connection, hash, name.platform, data.options.results);
    const bool has_report =
        !results.empty() && !results.back().report.empty() && !data.options.store.empty();
    list.push_back(series_json(connection, name.platform, results,
                               fleet::series_changes(data.events, results),
                               has_report ? replay_file(results.back()) : ""));
  }
  for (const fleet::Result& result : data.newest) {
    if (result.benchmark_hash == hash && result.is_predicted() &&
        (only.empty() || result.platform == only)) {
      list.push_back(series_json(connection, result.platform, {result}, {}, ""));
    }
  }
  return list;
}

/// Returns the series of the benchmarks that the job had before, newest first.
Json earlier_json(fleet::Connection& connection, const SiteData& data, const fleet::Job& job) {
  std::set<std::string> told = {job.benchmark_hash};
  Json list = Json::array();
  for (const fleet::Event& event : data.events_of(job)) {
    const bool is_change = event.kind == fleet::kChanged || event.kind == fleet::kDrifted;
    const std::string before = is_change ? Json::parse(event.detail).value("before", "") : "";
    if (!before.empty() && told.insert(before).second) {
      list.push_back({{"benchmark_hash", before},
                      {"until_night", event.night},
                      {"platforms", all_series(connection, data, before)}});
    }
  }
  return list;
}

/// Returns the name for finished work of a job that was removed, or of a benchmark that no job has
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
         Json::parse(event.detail).value("before", "") == benchmark->benchmark_hash)) {
      return event.job + ", as it was";
    }
  }
  return "a benchmark that no job has";
}

}  // namespace

Json nights_document(const SiteData& data) {
  Json nights = Json::array();
  for (const fleet::Night& night : data.nights) {
    nights.push_back(night_json(data, night));
    nights.back()["summary"] = night.summary.empty() ? Json() : Json::parse(night.summary);
  }
  return {{"format", "understudy-fleet-nights"}, {"version", 1}, {"nights", std::move(nights)}};
}

Json fleet_document(fleet::Connection& connection, const SiteData& data) {
  Json nights = Json::array();
  for (const fleet::Night& night : data.nights) {
    nights.push_back(night_json(data, night));
  }
  return {{"page", "fleet"},
          {"name", data.frame.fleet_name},
          {"date", data.frame.date},
          {"events", data.nights.empty() ? Json::array()
                                         : events_json(data.events_of(data.nights.front()), false)},
          {"jobs", jobs_json(connection, data)},
          {"nights", std::move(nights)},
          {"platforms", platforms_json(data)},
          {"subsets", subsets_json(connection, data)},
          {"class_share", class_shares(data)}};
}

Json benchmark_document(fleet::Connection& connection, const SiteData& data,
                        const fleet::Job& job) {
  Json document = {{"format", "understudy-fleet-history"},
                   {"version", 1},
                   {"job", job.name},
                   {"benchmark_hash", job.benchmark_hash},
                   {"state", data.state_of(job)},
                   {"broken", job.broken},
                   {"failing", data.failing_text(job)},
                   {"traces", job.path},
                   {"flags", fmt::format("{}", fmt::join(job.flags, " "))},
                   {"weight", job.weight},
                   {"tags", tags_of(job)},
                   {"is_timed", false},
                   {"class_share", Json::object()},
                   {"platforms", Json::array()},
                   {"earlier", earlier_json(connection, data, job)},
                   {"events", events_json(data.events_of(job), true)}};
  const auto found = data.benchmarks.find(job.benchmark);
  if (found != data.benchmarks.end()) {
    const fleet::Benchmark& benchmark = found->second;
    const fleet::Fingerprint print =
        fleet::parse_fingerprint(benchmark.fingerprint, job.benchmark_hash);
    document.update({{"made_utc", benchmark.made_utc},
                     {"generator", benchmark.generator},
                     {"ranks", benchmark.world_size},
                     {"is_timed", print.is_timed},
                     {"step_ms", print.step_ms > 0 ? Json(print.step_ms) : Json()},
                     {"operator_names", print.operators.size()},
                     {"collectives", print.collectives.size()},
                     {"losses", print.losses},
                     {"class_share", print.class_share},
                     {"platforms", all_series(connection, data, job.benchmark_hash)}});
  }
  return document;
}

Json night_document(fleet::Connection& connection, const SiteData& data,
                    const fleet::Night& night) {
  std::map<std::int64_t, const fleet::Job*> by_id;
  std::map<std::int64_t, const fleet::Job*> by_benchmark;
  for (const fleet::Job& job : data.jobs) {
    by_id.emplace(job.id, &job);
    by_benchmark.emplace(job.benchmark, &job);
  }
  Json document = Json::parse(night.summary);
  for (const fleet::FinishedWork& work : fleet::finished_work(connection, night.id)) {
    const auto& jobs = work.kind == fleet::kGenerateWork ? by_id : by_benchmark;
    const auto job = jobs.find(work.subject);
    document["work"].push_back(
        {{"job", job == jobs.end() ? name_of_former(connection, data, work) : job->second->name},
         {"kind", work.kind},
         {"platform", work.platform},
         {"state", work.outcome},
         {"duration_s", work.seconds},
         {"attempts", work.attempts},
         {"text", work.detail}});
  }
  return document;
}

std::string replay_file(const fleet::Result& result) {
  return pages::page_name(
      "replay", fmt::format("{} {} {}", result.benchmark_hash, result.platform, result.night));
}

}  // namespace understudy::cli
