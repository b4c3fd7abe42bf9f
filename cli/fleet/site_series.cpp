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

/// The figures of `results` from `begin` on, before `end`.
double median_ms(const std::vector<fleet::Result>& results, std::size_t begin, std::size_t end) {
  std::vector<double> figures;
  for (std::size_t i = begin; i < end; ++i) {
    figures.push_back(results[i].median_ms);
  }
  std::ranges::sort(figures);
  return et_schema::percentile(figures, 0.5).value_or(0);
}

std::vector<std::string> environment_in(const std::string& text) {
  constexpr std::string_view kWith = "; with it changed ";
  const std::size_t at = text.find(kWith);
  return at == std::string::npos ? std::vector<std::string>()
                                 : std::vector{text.substr(at + kWith.size())};
}

/// What changed a series, in the words of the night that told it or of the nights behind it.
class Changes {
 public:
  Changes(const SiteData& data, const std::string& hash, const std::string& platform,
          const std::vector<fleet::Result>& results)
      : results_(results) {
    for (const fleet::Event& event : data.events) {
      if (event.benchmark_hash == hash && event.platform == platform) {
        event.kind == fleet::kChangePoint ? add_point(event) : add_night(event);
      }
    }
  }

  std::vector<pages::ChangePointMark> marks() {
    for (const pages::ChangePointMark& night : nights_) {
      const auto point = std::ranges::find_if(
          points_, [&](const pages::ChangePointMark& mark) { return are_one(mark, night); });
      if (point == points_.end()) {
        points_.push_back(night);
      } else {
        point->text = night.text;  // which classes and operators
        point->is_recovery = night.is_recovery;
      }
    }
    std::ranges::stable_sort(points_, {}, &pages::ChangePointMark::index);
    return points_;
  }

 private:
  void add_point(const fleet::Event& event) {
    const auto first = std::ranges::find(results_, event.night, &fleet::Result::night);
    if (first == results_.end()) {
      return;  // older than what is shown
    }
    const nlohmann::json detail = nlohmann::json::parse(event.detail);
    points_.push_back({.index = static_cast<std::size_t>(first - results_.begin()),
                       .before_ms = detail.value("before_ms", 0.0),
                       .after_ms = detail.value("after_ms", 0.0),
                       .environment = environment_in(event.text)});
  }

  /// A night that was slower or faster than those before it.
  void add_night(const fleet::Event& event) {
    constexpr std::size_t kBefore = 5;  // nights that it was held against
    const auto first = std::ranges::find(results_, event.night, &fleet::Result::night);
    const bool is_change = event.kind == fleet::kSlower || event.kind == fleet::kFaster ||
                           event.kind == fleet::kRecovered;
    if (!is_change || first == results_.end() || first == results_.begin()) {
      return;
    }
    const auto index = static_cast<std::size_t>(first - results_.begin());
    nights_.push_back({.index = index,
                       .before_ms = median_ms(results_, level_begin(index, kBefore), index),
                       .after_ms = first->median_ms,
                       .text = event.text,
                       .environment = environment_in(event.text),
                       .is_recovery = event.kind == fleet::kRecovered});
  }

  /// Where the level before `index` begins, of `most` nights at most: at the last change before it.
  [[nodiscard]] std::size_t level_begin(std::size_t index, std::size_t most) const {
    std::size_t begin = index - std::min(index, most);
    for (const std::vector<pages::ChangePointMark>* marks : {&points_, &nights_}) {
      for (const pages::ChangePointMark& mark : *marks) {
        begin = mark.index < index ? std::max(begin, mark.index) : begin;
      }
    }
    return begin;
  }

  /// Otava may place a change a night or two beside the first that showed it.
  static bool are_one(const pages::ChangePointMark& a, const pages::ChangePointMark& b) {
    constexpr std::size_t kNear = 2;
    return (a.after_ms > a.before_ms) == (b.after_ms > b.before_ms) &&
           std::max(a.index, b.index) - std::min(a.index, b.index) <= kNear;
  }

  const std::vector<fleet::Result>& results_;
  std::vector<pages::ChangePointMark> points_;
  std::vector<pages::ChangePointMark> nights_;
};

/// Whose work it was, of a job that is gone or of a benchmark that no job has any more.
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
  page.failing = failing_text(data, job);
  page.weight = job.weight;
  page.tags = tags_of(job);
  page.flags = fmt::format("{}", fmt::join(job.flags, " "));
  page.tool_version = et_schema::kToolVersion;
  const std::string hash = hash_of(data, job);
  for (std::size_t i = data.events.size(); i-- > 0;) {
    if (is_of_job(data.events[i], job.name, hash)) {
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
  page.is_timed = print.is_timed;
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
    series.changes = Changes(data, benchmark->benchmark_hash, name.platform, results).marks();
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
  page.events = events_of_night(data, night);
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
    item.job = found == jobs.end() ? name_of_former(connection, data, work) : found->second->name;
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
