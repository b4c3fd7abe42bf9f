#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/figures.h"
#include "common/table.h"
#include "fleet_parts.h"
#include "pages/plots/plots.h"

namespace understudy::pages {
namespace {

/// A ratio's interval on one side of 1 shows a difference.
Tone tone_of(double low, double high) {
  if (low > 1) {
    return Tone::kBad;
  }
  return high < 1 ? Tone::kGood : Tone::kNeutral;
}

std::string percent(double probability) {
  return std::isfinite(probability) ? fmt::format("{:.0f} %", probability * cli::kPercent) : "–";
}

/// "convolution +4.1 %, copy −0.7 %".
std::string drivers_of(const fleet::PlatformSummary& platform) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> parts;
  for (const auto& [name, part] : platform.classes) {
    if (parts.size() < kNamed && std::isfinite(part)) {
      parts.push_back(fmt::format("{} {:+.1f} %", name, part * cli::kPercent));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A probability; NaN of the last.
double faster_than_next(const fleet::PlatformComparison& data, std::size_t index) {
  return index < data.faster_than_next.size() ? data.faster_than_next[index]
                                              : std::numeric_limits<double>::quiet_NaN();
}

Json json_of_platform(const fleet::PlatformComparison& data, std::size_t index) {
  const fleet::PlatformSummary& platform = data.platforms[index];
  Json rows = Json::array();
  for (const fleet::BenchmarkRatio& row : platform.rows) {
    rows.push_back({{"job", row.job},
                    {"weight", json_of(row.weight)},
                    {"value", json_of(row.ratio.value)},
                    {"low", json_of(row.ratio.low)},
                    {"high", json_of(row.ratio.high)},
                    {"predicted", row.is_predicted}});
  }
  Json classes = Json::object();
  for (const auto& [name, part] : platform.classes) {
    classes[name] = json_of(part);
  }
  return {{"platform", platform.platform},
          {"value", json_of(platform.ratio.value)},
          {"low", json_of(platform.ratio.low)},
          {"high", json_of(platform.ratio.high)},
          {"benchmarks", platform.benchmarks},
          {"predicted", platform.predicted},
          {"weight_covered", json_of(platform.weight_covered)},
          {"first_probability", json_of(platform.first_probability)},
          {"faster_than_next", json_of(faster_than_next(data, index))},
          {"classes", std::move(classes)},
          {"rows", std::move(rows)}};
}

Section ranking_section(const fleet::PlatformComparison& data) {
  Intervals plot{fmt::format("Time on each platform ÷ time on {}, weighted "
                             "over the fleet, with 95 % "
                             "intervals; left of the line is faster.",
                             data.baseline),
                 "", 1.0};
  Table table{
      .id = "ranking-table",
      .caption = fmt::format("Platforms against {}, the fastest first", data.baseline),
      .columns = {texts("platform"), ratios("ratio", "value"),
                  ratios("from", "low", "95 % interval"), ratios("to", "high", "95 % interval"),
                  shares("faster than the next", "faster_than_next", "probability"),
                  shares("fastest of all", "first_probability", "probability"),
                  counts("benchmarks"), counts("predicted"),
                  shares("weight covered", "weight_covered"), texts("what drives it")},
      .at = "/platforms"};
  for (std::size_t i = 0; i < data.platforms.size(); ++i) {
    const fleet::PlatformSummary& platform = data.platforms[i];
    plot.rows.push_back({platform.platform, platform.ratio.value, platform.ratio.low,
                         platform.ratio.high, tone_of(platform.ratio.low, platform.ratio.high),
                         fmt::format("{:.3f}{}", platform.ratio.value,
                                     platform.predicted > 0 ? ", partly predicted" : "")});
    table.rows.push_back({link_cell(platform.platform, page_name("platform", platform.platform)),
                          number_cell(platform.ratio.value), number_cell(platform.ratio.low),
                          number_cell(platform.ratio.high), number_cell(faster_than_next(data, i)),
                          number_cell(platform.first_probability), platform.benchmarks,
                          platform.predicted, number_cell(platform.weight_covered),
                          text_cell(drivers_of(platform))});
  }
  return {"ranking", "Ranking", {intervals(plot), table}};
}

Section drivers_section(const fleet::PlatformSummary& platform) {
  Table table{.id = "class-table",
              .caption =
                  "What each class of operators has of the difference; "
                  "negative: time gained",
              .columns = {texts("class"), changes("part of (ratio − 1)")}};
  for (const auto& [name, part] : platform.classes) {
    table.rows.push_back({name, number_cell(part)});
  }
  return {"classes", "Classes", {table}};
}

Section rows_section(const fleet::PlatformComparison& data,
                     const fleet::PlatformSummary& platform) {
  constexpr std::size_t kMostDrawn = 40;
  Intervals plot{
      fmt::format("Time here ÷ time on {} by benchmark, with 95 % intervals{}.", data.baseline,
                  platform.rows.size() > kMostDrawn
                      ? fmt::format("; the first {} of {}", kMostDrawn, platform.rows.size())
                      : ""),
      "", 1.0};
  Table table{
      .id = "ratio-table",
      .caption = "Benchmarks",
      .columns = {texts("job"), ratios("ratio", "value"), ratios("from", "low", "95 % interval"),
                  ratios("to", "high", "95 % interval"), figures("weight"), texts("source")},
      .at = "/rows"};
  for (const fleet::BenchmarkRatio& row : platform.rows) {
    if (plot.rows.size() < kMostDrawn) {
      plot.rows.push_back(
          {row.job, row.ratio.value, row.ratio.low, row.ratio.high,
           tone_of(row.ratio.low, row.ratio.high),
           fmt::format("{:.3f}{}", row.ratio.value, row.is_predicted ? " predicted" : "")});
    }
    table.rows.push_back({link_cell(row.job, job_file(row.job)), number_cell(row.ratio.value),
                          number_cell(row.ratio.low), number_cell(row.ratio.high),
                          number_cell(row.weight), source_text(row.is_predicted)});
  }
  return {"benchmarks", "Benchmarks", {intervals(plot), table}};
}

std::string ranking_text(const fleet::PlatformComparison& data) {
  if (data.platforms.empty()) {
    return "No platform has a result.";
  }
  const fleet::PlatformSummary& first = data.platforms.front();
  if (data.platforms.size() == 1) {
    return fmt::format("Only {} has results: there is nothing to hold it against.", first.platform);
  }
  if (data.common == 0) {
    return fmt::format(
        "Which platform is the fastest cannot be said: no "
        "benchmark has a time on every one. Each "
        "is held against {} by what both have.",
        data.baseline);
  }
  const std::string over = fmt::format(
      "probability {}, over {} benchmark{} that every platform has.",
      percent(first.first_probability), cli::with_commas(data.common), data.common == 1 ? "" : "s");
  if (first.platform == data.baseline) {
    const fleet::PlatformSummary& next = data.platforms[1];
    return fmt::format(
        "{} is the fastest, {} The next, {}: {:.3f} times its "
        "time ({:.3f} … {:.3f}).",
        first.platform, over, next.platform, next.ratio.value, next.ratio.low, next.ratio.high);
  }
  return fmt::format("{} is the fastest: {:.3f} times {}'s time ({:.3f} … {:.3f}), {}",
                     first.platform, first.ratio.value, data.baseline, first.ratio.low,
                     first.ratio.high, over);
}

}  // namespace

Page platforms_page(const fleet::PlatformComparison& data, const SiteFrame& frame) {
  Page page = framed(frame);
  page.title = "Platforms against " + data.baseline;
  page.verdict = ranking_text(data);
  for (const fleet::PlatformSummary& platform : data.platforms) {
    if (platform.without_interval > 0 && platform.platform != data.baseline) {
      page.findings.push_back(
          fmt::format("{}: {} of {} benchmarks ran too few iterations for an interval: "
                      "theirs is not in the "
                      "platform's.",
                      platform.platform, platform.without_interval, platform.benchmarks));
    }
    if (platform.predicted > 0) {
      page.findings.push_back(fmt::format("{}: {} of {} benchmarks are predicted, not replayed.",
                                          platform.platform, platform.predicted,
                                          platform.benchmarks));
    }
  }
  if (!data.without_common.empty()) {
    page.findings.push_back(fmt::format("Not compared, without a benchmark that {} has: {}.",
                                        data.baseline, fmt::join(data.without_common, ", ")));
  }
  page.sections = {ranking_section(data)};
  Json platforms = Json::array();
  for (std::size_t i = 0; i < data.platforms.size(); ++i) {
    platforms.push_back(json_of_platform(data, i));
  }
  page.data = data_text("platforms", {{"baseline", data.baseline},
                                      {"common", data.common},
                                      {"without_common", data.without_common},
                                      {"platforms", std::move(platforms)}});
  page.data_name = "platforms.json";
  return page;
}

Page platform_page(const fleet::PlatformComparison& data, std::size_t index,
                   const SiteFrame& frame) {
  const fleet::PlatformSummary& platform = data.platforms.at(index);
  Page page = framed(frame);
  page.title = fmt::format("{} against {}", platform.platform, data.baseline);
  page.tone = tone_of(platform.ratio.low, platform.ratio.high);
  const std::string benchmarks = fmt::format(
      "{} benchmark{}", cli::with_commas(platform.benchmarks), platform.benchmarks == 1 ? "" : "s");
  page.verdict =
      platform.platform == data.baseline
          ? fmt::format("The platform that others are held against, with {}.", benchmarks)
          : fmt::format("{:.3f} times {}'s time ({:.3f} … {:.3f}), weighted over {}.",
                        platform.ratio.value, data.baseline, platform.ratio.low,
                        platform.ratio.high, benchmarks);
  if (platform.predicted > 0) {
    page.findings.push_back(
        fmt::format("{} of them are predicted, not replayed.", platform.predicted));
  }
  page.sections = {rows_section(data, platform), drivers_section(platform)};
  page.data = data_text("platform", json_of_platform(data, index));
  page.data_name = "platform.json";
  return page;
}

}  // namespace understudy::pages
