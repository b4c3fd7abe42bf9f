#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/figures.h"
#include "fleet_parts.h"
#include "pages/plots/series.h"

namespace understudy::pages {
namespace {

/// "torch 2.10 → 2.11" and what moved, of a change point.
std::string text_of(const fleet::SeriesChange& change) {
  std::string text = fmt::format("{} → {} ms, {}", cli::figure_text(change.before_ms),
                                 cli::figure_text(change.after_ms),
                                 change_text(change.after_ms / change.before_ms));
  if (!change.text.empty()) {
    text += ": " + change.text;
  }
  return text;
}

std::string night_text(const fleet::Result& result) {
  return result.night == 0 ? "–" : fmt::format("{}", result.night);
}

bool is_predicted(const fleet::Result& result) {
  return result.source == fleet::kPredicted;
}

Json json_of_platform(const BenchmarkData& data, const PlatformSeries& platform) {
  Json results = Json::array();
  for (const fleet::Result& result : platform.results) {
    results.push_back({{"night", night_text(result)},
                       {"date", result.date_utc},
                       {"ms", json_of(result.median_ms)},
                       {"low_ms", json_of(result.low_ms)},
                       {"high_ms", json_of(result.high_ms)},
                       {"coverage", json_of(result.coverage)},
                       {"peak_bytes", result.peak_bytes},
                       {"predicted", is_predicted(result)},
                       {"software", data.software.at(result.environment)},
                       {"class_ms", result.class_ms}});
  }
  Json changes = Json::array();
  for (const fleet::SeriesChange& change : platform.changes) {
    changes.push_back({{"index", change.index},
                       {"before_ms", json_of(change.before_ms)},
                       {"after_ms", json_of(change.after_ms)},
                       {"text", change.text},
                       {"environment", change.environment}});
  }
  return {{"platform", platform.platform},
          {"results", std::move(results)},
          {"changes", std::move(changes)}};
}

std::vector<std::string> nights_of(const PlatformSeries& platform) {
  std::vector<std::string> nights;
  for (const fleet::Result& result : platform.results) {
    nights.push_back(night_text(result));
  }
  return nights;
}

Markup time_series(const PlatformSeries& platform, const std::string& id) {
  Series plot{.id = id + "-series",
              .caption =
                  "Median time of an iteration by night, with its 95 % "
                  "interval; a mark "
                  "stands where the series changed.",
              .unit = "ms",
              .place = "night",
              .places = nights_of(platform),
              .lines = {{"median", {}}, {"95 % from", {}, true}, {"to", {}, true}},
              .from_zero = false};
  for (const fleet::Result& result : platform.results) {
    plot.lines[0].values.emplace_back(result.median_ms);
    plot.lines[1].values.emplace_back(result.low_ms);
    plot.lines[2].values.emplace_back(result.high_ms);
  }
  for (const fleet::SeriesChange& change : platform.changes) {
    plot.marks.push_back({change.index, change_text(change.after_ms / change.before_ms),
                          change.after_ms > change.before_ms ? Tone::kBad : Tone::kGood});
  }
  return series(plot);
}

/// The classes that take most time, by night.
Markup class_series(const PlatformSeries& platform, const std::string& id) {
  std::map<std::string, double> sums;
  for (const fleet::Result& result : platform.results) {
    for (const auto& [name, ms] : result.class_ms) {
      sums[name] += ms;
    }
  }
  std::vector<std::pair<std::string, double>> classes(sums.begin(), sums.end());
  std::ranges::stable_sort(classes,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kMostClasses = 8;
  Series plot{.id = id + "-classes",
              .caption = classes.size() > kMostClasses
                             ? "Time by class of operator by night, the eight largest."
                             : "Time by class of operator by night.",
              .unit = "ms",
              .place = "night",
              .places = nights_of(platform)};
  classes.resize(std::min(classes.size(), kMostClasses));
  for (const auto& [name, sum] : classes) {
    SeriesLine row{name, {}};
    for (const fleet::Result& result : platform.results) {
      const auto found = result.class_ms.find(name);
      row.values.push_back(found == result.class_ms.end() ? std::nullopt
                                                          : std::optional(found->second));
    }
    plot.lines.push_back(std::move(row));
  }
  return series(plot);
}

Markup changes_of(const PlatformSeries& platform) {
  Markup list;
  for (const fleet::SeriesChange& change : platform.changes) {
    const std::string night = change.index < platform.results.size()
                                  ? night_text(platform.results[change.index])
                                  : fmt::format("{}", change.index);
    std::string text = fmt::format("Since night {}: {}.", night, text_of(change));
    text += change.environment.empty()
                ? " Nothing in the environment changed with it."
                : fmt::format(" Changed with it: {}.", fmt::join(change.environment, ", "));
    list += element("li", {}, text);
  }
  return list.empty() ? element("p", {}, "No change in this series.") : element("ul", {}, list);
}

Table results_table(const BenchmarkData& data, const PlatformSeries& platform,
                    const std::string& id) {
  Table table{.id = id + "-table",
              .caption = "Results, the newest first",
              .columns = {texts("night"), texts("date"), figures("ms"),
                          figures("from", "", 1, "95 % interval of the median"),
                          figures("to", "", 1, "95 % interval of the median"), percents("coverage"),
                          byte_counts("peak"), texts("source"), texts("software"), texts("report")},
              .shown = 20};
  for (std::size_t i = platform.results.size(); i-- > 0;) {
    const fleet::Result& result = platform.results[i];
    const bool is_newest = i + 1 == platform.results.size();
    table.rows.push_back(
        {night_cell(data.frame, result.night), text_cell(result.date_utc),
         number_cell(result.median_ms), number_cell(result.low_ms), number_cell(result.high_ms),
         number_cell(result.coverage),
         static_cast<std::uint64_t>(std::max<std::int64_t>(0, result.peak_bytes)),
         source_text(is_predicted(result)), text_cell(data.software.at(result.environment)),
         is_newest && !platform.report_href.empty() ? link_cell("page", platform.report_href)
                                                    : Cell()});
  }
  return table;
}

std::vector<Section> platform_sections(const BenchmarkData& data) {
  std::vector<Section> sections;
  for (std::size_t i = 0; i < data.platforms.size(); ++i) {
    const PlatformSeries& platform = data.platforms[i];
    const std::string id = fmt::format("platform-{}", i);
    const bool is_series = platform.results.size() > 1;
    sections.push_back(
        {id,
         "On " + platform.platform,
         {is_series ? time_series(platform, id) + changes_of(platform) + class_series(platform, id)
                    : Markup(),
          results_table(data, platform, id)}});
  }
  return sections;
}

Section about_section(const BenchmarkData& data) {
  const fleet::Fingerprint& print = data.print;
  Facts facts = {{"traces", data.job.path},
                 {"benchmark", data.benchmark.benchmark_hash},
                 {"made", data.benchmark.made_utc},
                 {"generator", data.benchmark.generator},
                 {"flags", fmt::format("{}", fmt::join(data.job.flags, " "))},
                 {"ranks", static_cast<std::uint64_t>(data.benchmark.world_size), CellKind::kCount},
                 {"weight in the fleet", fmt::format("{}", data.job.weight)},
                 {"tags", tags_of(data.job)}};
  if (print.step_ms > 0) {
    facts.push_back({"recorded step", print.step_ms, CellKind::kFigure, "ms"});
  }
  if (!data.benchmark.benchmark_hash.empty()) {
    facts.push_back({"operators", print.operators.size(), CellKind::kCount});
    facts.push_back({"collectives", print.collectives.size(), CellKind::kCount});
    facts.push_back({"losses", print.losses, CellKind::kCount});
  }
  return {"about",
          "The benchmark",
          {facts, class_share_bars(
                      print.class_share,
                      print.is_timed ? "Share of the recorded time by class."
                                     : "Share of the calls by class: the traces have no times.")}};
}

struct Verdict {
  Tone tone = Tone::kNeutral;
  std::string text;
};

/// The newest result against the level before the last change.
Verdict since_last_change(const PlatformSeries& platform) {
  const fleet::SeriesChange& change = platform.changes.back();
  const double newest_ms = platform.results.back().median_ms;
  const std::string night = change.index < platform.results.size()
                                ? night_text(platform.results[change.index])
                                : std::string("–");
  const std::string before = fmt::format("as before night {}, which was {}: {} ms", night,
                                         change_text(change.after_ms / change.before_ms),
                                         cli::figure_text(change.before_ms));
  const std::string since =
      fmt::format("{} since night {}", change_text(newest_ms / change.before_ms), night);
  switch (fleet::since_change(change, newest_ms)) {
    case fleet::SinceChange::kBackFromSlower:
      return {Tone::kGood, before};
    case fleet::SinceChange::kBackFromRecovery:
      return {Tone::kBad, before};
    case fleet::SinceChange::kBackFromFaster:
      return {Tone::kAttention, before};
    case fleet::SinceChange::kRecovered:
      return {Tone::kGood, since + ", as before it became slower"};
    case fleet::SinceChange::kSlower:
      return {Tone::kBad, since};
    case fleet::SinceChange::kFaster:
      break;
  }
  return {Tone::kGood, since};
}

Verdict verdict_of(const BenchmarkData& data) {
  if (!data.job.broken.empty()) {
    return {Tone::kBad,
            fmt::format("No benchmark could be made of the newest traces: {}", data.job.broken)};
  }
  if (!data.failing.empty()) {
    return {Tone::kBad, fmt::format("Its replay fails: {}", data.failing)};
  }
  const PlatformSeries* newest = nullptr;
  for (const PlatformSeries& platform : data.platforms) {
    const bool is_better = newest == nullptr || is_predicted(newest->results.back());
    newest = is_better && !platform.results.empty() ? &platform : newest;
  }
  if (newest == nullptr) {
    return {Tone::kNeutral, "It was not replayed yet."};
  }
  if (is_predicted(newest->results.back())) {
    return {Tone::kNeutral,
            fmt::format("{} ms an iteration are predicted for {}; it was not "
                        "replayed yet.",
                        cli::figure_text(newest->results.back().median_ms), newest->platform)};
  }
  const fleet::Result& last = newest->results.back();
  std::string text =
      fmt::format("{} ms an iteration on {} in night {}", cli::figure_text(last.median_ms),
                  newest->platform, night_text(last));
  for (const PlatformSeries& platform : data.platforms) {
    if (!platform.changes.empty() && !platform.results.empty()) {
      const Verdict since = since_last_change(platform);
      return {since.tone, fmt::format("{}; on {} {}.", text, platform.platform, since.text)};
    }
  }
  if (data.state == "unjudged") {
    return {Tone::kAttention, text + "; not judged against the nights before."};
  }
  if (newest->results.size() == 1) {
    return {Tone::kNeutral, text + "; its first result."};
  }
  return {Tone::kGood, fmt::format("{}; no change in {} results.", text,
                                   cli::with_commas(newest->results.size()))};
}

}  // namespace

Page benchmark_page(const BenchmarkData& data) {
  const Verdict verdict = verdict_of(data);
  Page page = framed(data.frame);
  page.title = data.job.name;
  page.subtitle = fmt::format("benchmark {}{}", data.benchmark.benchmark_hash,
                              data.state.empty() ? "" : ", " + data.state);
  page.tone = verdict.tone;
  page.verdict = verdict.text;
  Json platforms = Json::array();
  for (const PlatformSeries& platform : data.platforms) {
    platforms.push_back(json_of_platform(data, platform));
  }
  const Json json = {{"page", "benchmark"},
                     {"job", data.job.name},
                     {"benchmark_hash", data.benchmark.benchmark_hash},
                     {"state", data.state},
                     {"weight", json_of(data.job.weight)},
                     {"class_share", data.print.class_share},
                     {"platforms", std::move(platforms)},
                     {"events", events_json(data.events, true)}};
  page.sections = platform_sections(data);
  page.sections.push_back(events_section(data.frame, json, true));
  page.sections.push_back(about_section(data));
  set_data(page, json, "benchmark.json");
  return page;
}

}  // namespace understudy::pages
