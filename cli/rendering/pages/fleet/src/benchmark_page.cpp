#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "common/figures.h"
#include "common/table.h"
#include "fleet_parts.h"
#include "pages/plots/series.h"

namespace understudy::pages {
namespace {

/// "torch 2.10 → 2.11" and what moved, of a change point.
std::string text_of(const ChangePointMark& change) {
  std::string text = fmt::format("{} → {} ms, {}", cli::figure_text(change.before_ms),
                                 cli::figure_text(change.after_ms),
                                 change_text(change.after_ms / change.before_ms));
  if (!change.text.empty()) {
    text += ": " + change.text;
  }
  return text;
}

Json json_of_platform(const PlatformSeries& platform) {
  Json results = Json::array();
  for (const SeriesResult& result : platform.results) {
    results.push_back({{"night", result.night},
                       {"date", result.date},
                       {"ms", json_of(result.time.ms)},
                       {"low_ms", json_of(result.time.low_ms)},
                       {"high_ms", json_of(result.time.high_ms)},
                       {"coverage", json_of(result.coverage)},
                       {"peak_bytes", result.peak_bytes},
                       {"predicted", result.is_predicted},
                       {"software", result.software},
                       {"class_ms", result.class_ms}});
  }
  Json changes = Json::array();
  for (const ChangePointMark& change : platform.changes) {
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
  for (const SeriesResult& result : platform.results) {
    nights.push_back(result.night);
  }
  return nights;
}

Markup time_series(const PlatformSeries& platform, const std::string& id) {
  Series plot{.id = id + "-series",
              .caption =
                  "Median time of an iteration by night, with its 95 % interval; a mark "
                  "stands where the series changed.",
              .unit = "ms",
              .place = "night",
              .places = nights_of(platform),
              .lines = {{"median", {}}, {"95 % from", {}, true}, {"to", {}, true}},
              .from_zero = false};
  for (const SeriesResult& result : platform.results) {
    plot.lines[0].values.emplace_back(result.time.ms);
    plot.lines[1].values.emplace_back(result.time.low_ms);
    plot.lines[2].values.emplace_back(result.time.high_ms);
  }
  for (const ChangePointMark& change : platform.changes) {
    plot.marks.push_back({change.index, change_text(change.after_ms / change.before_ms),
                          change.after_ms > change.before_ms ? Tone::kBad : Tone::kGood});
  }
  return series(plot);
}

/// The classes that take most time, by night.
Markup class_series(const PlatformSeries& platform, const std::string& id) {
  std::map<std::string, double> sums;
  for (const SeriesResult& result : platform.results) {
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
    for (const SeriesResult& result : platform.results) {
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
  for (const ChangePointMark& change : platform.changes) {
    const std::string night = change.index < platform.results.size()
                                  ? platform.results[change.index].night
                                  : fmt::format("{}", change.index);
    std::string text = fmt::format("Since night {}: {}.", night, text_of(change));
    text += change.environment.empty()
                ? " Nothing in the environment changed with it."
                : fmt::format(" Changed with it: {}.", fmt::join(change.environment, ", "));
    list += element("li", {}, text);
  }
  return list.empty() ? element("p", {}, "No change in this series.") : element("ul", {}, list);
}

Table results_table(const PlatformSeries& platform, const std::string& id) {
  Table table{.id = id + "-table",
              .caption = "Results, the newest first",
              .columns = {{"night"},
                          {"date"},
                          {"ms", CellKind::kFigure},
                          {"from", CellKind::kFigure, "", "95 % interval of the median"},
                          {"to", CellKind::kFigure, "", "95 % interval of the median"},
                          {"coverage", CellKind::kPercent},
                          {"peak", CellKind::kBytes},
                          {"source"},
                          {"software"},
                          {"report"}},
              .shown = 20};
  for (std::size_t i = platform.results.size(); i-- > 0;) {
    const SeriesResult& result = platform.results[i];
    table.rows.push_back(
        {link_cell(result.night, result.night_href), text_cell(result.date),
         number_cell(result.time.ms), number_cell(result.time.low_ms),
         number_cell(result.time.high_ms), number_cell(result.coverage), result.peak_bytes,
         std::string(result.is_predicted ? "prediction" : "replay"), text_cell(result.software),
         link_cell(result.report_href.empty() ? "" : "page", result.report_href)});
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
        {id, "On " + platform.platform,
         (is_series ? time_series(platform, id) + changes_of(platform) + class_series(platform, id)
                    : Markup()) +
             table_markup(results_table(platform, id))});
  }
  return sections;
}

Section about_section(const BenchmarkData& data) {
  std::vector<Fact> facts = {{"traces", text(data.job_path)},
                             {"benchmark", text(data.benchmark_hash)},
                             {"made", text(data.made)},
                             {"generator", text(data.generator)},
                             {"flags", text(data.flags)},
                             {"ranks", text(fmt::format("{}", data.world_size))},
                             {"weight in the fleet", text(fmt::format("{}", data.weight))},
                             {"tags", text(data.tags)}};
  for (const auto& [name, value] : data.facts) {
    facts.push_back({name, text(value)});
  }
  return {"about", "The benchmark",
          facts_markup(facts) +
              class_share_bars(data.class_share,
                               data.is_timed
                                   ? "Share of the recorded time by class."
                                   : "Share of the calls by class: the traces have no times.")};
}

struct Verdict {
  Tone tone = Tone::kNeutral;
  std::string text;
};

/// The newest result against the level before the last change: a change that has passed since, told
/// by a night or not, is none any more.
Verdict since_last_change(const PlatformSeries& platform) {
  const ChangePointMark& change = platform.changes.back();
  const double newest_ms = platform.results.back().time.ms;
  const std::string night = change.index < platform.results.size()
                                ? platform.results[change.index].night
                                : std::string("–");
  const auto distance = [newest_ms](double ms) { return std::abs(std::log(newest_ms / ms)); };
  if (distance(change.before_ms) < distance(change.after_ms)) {
    const Tone tone = change.after_ms > change.before_ms ? Tone::kGood
                      : change.is_recovery               ? Tone::kBad
                                                         : Tone::kAttention;
    return {tone, fmt::format("as before night {}, which was {}: {} ms", night,
                              change_text(change.after_ms / change.before_ms),
                              cli::figure_text(change.before_ms))};
  }
  const std::string text =
      fmt::format("{} since night {}", change_text(newest_ms / change.before_ms), night);
  if (change.is_recovery) {
    return {Tone::kGood, text + ", as before it became slower"};
  }
  return {change.after_ms > change.before_ms ? Tone::kBad : Tone::kGood, text};
}

Verdict verdict_of(const BenchmarkData& data) {
  if (!data.broken.empty()) {
    return {Tone::kBad,
            fmt::format("No benchmark could be made of the newest traces: {}", data.broken)};
  }
  if (!data.failing.empty()) {
    return {Tone::kBad, fmt::format("Its replay fails: {}", data.failing)};
  }
  const PlatformSeries* newest = nullptr;
  for (const PlatformSeries& platform : data.platforms) {
    const bool is_better = newest == nullptr || newest->results.back().is_predicted;
    newest = is_better && !platform.results.empty() ? &platform : newest;
  }
  if (newest == nullptr) {
    return {Tone::kNeutral, "It was not replayed yet."};
  }
  if (newest->results.back().is_predicted) {
    return {Tone::kNeutral,
            fmt::format("{} ms an iteration are predicted for {}; it was not "
                        "replayed yet.",
                        cli::figure_text(newest->results.back().time.ms), newest->platform)};
  }
  const SeriesResult& last = newest->results.back();
  std::string text = fmt::format("{} ms an iteration on {} in night {}",
                                 cli::figure_text(last.time.ms), newest->platform, last.night);
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
  Page page;
  page.title = data.job;
  page.subtitle = fmt::format("benchmark {}{}", data.benchmark_hash,
                              data.state.empty() ? "" : ", " + data.state);
  if (!data.fleet_href.empty()) {
    page.above = {{"Fleet " + data.fleet_name, data.fleet_href}};
  }
  page.tone = verdict.tone;
  page.verdict = verdict.text;
  page.sections = platform_sections(data);
  page.sections.push_back(events_section(data.events, true));
  page.sections.push_back(about_section(data));
  Json platforms = Json::array();
  for (const PlatformSeries& platform : data.platforms) {
    platforms.push_back(json_of_platform(platform));
  }
  page.data = data_text("benchmark", {{"job", data.job},
                                      {"benchmark_hash", data.benchmark_hash},
                                      {"state", data.state},
                                      {"weight", json_of(data.weight)},
                                      {"class_share", data.class_share},
                                      {"platforms", std::move(platforms)},
                                      {"events", json_list(data.events)}});
  page.data_name = "benchmark.json";
  page.footer = "Understudy " + data.tool_version;
  return page;
}

}  // namespace understudy::pages
