#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/common/figures.h"
#include "cli/pages/document/table.h"
#include "fleet_parts.h"

namespace understudy::pages {
namespace {

/// Returns the tone of a ratio. It differs from 1 only if its interval does not contain 1.
Tone tone_of(double low, double high) {
  if (low > 1) {
    return Tone::kBad;
  }
  return high < 1 ? Tone::kGood : Tone::kNeutral;
}

std::string percent(double probability) {
  return std::isfinite(probability) ? fmt::format("{:.0f} %", probability * cli::kPercent) : "–";
}

/// Returns "convolution +4.1 %, copy −0.7 %".
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

Json ratio_json(const fleet::RatioInterval& ratio) {
  return {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
}

Json json_of_platform(const fleet::PlatformComparison& data, std::size_t index) {
  const fleet::PlatformSummary& platform = data.platforms[index];
  Json rows = Json::array();
  for (const fleet::BenchmarkRatio& row : platform.rows) {
    rows.push_back({{"job", row.job},
                    {"weight", row.weight},
                    {"ratio", ratio_json(row.ratio)},
                    {"predicted", row.is_predicted}});
  }
  Json classes = Json::array();
  for (const fleet::ClassPart& part : platform.classes) {
    classes.push_back({{"class", part.name}, {"part", part.part}});
  }
  return {{"platform", platform.platform},
          {"benchmarks", platform.benchmarks},
          {"predicted", platform.predicted},
          {"without_interval", platform.without_interval},
          {"weight_covered", platform.weight_covered},
          {"ratio", ratio_json(platform.ratio)},
          {"first_probability", platform.first_probability},
          {"faster_than_next_probability",
           index < data.faster_than_next.size() ? Json(data.faster_than_next[index]) : Json()},
          {"drivers", drivers_of(platform)},
          {"classes", std::move(classes)},
          {"benchmark_ratios", std::move(rows)}};
}

Section ranking_section(const fleet::PlatformComparison& data, const Json& json,
                        const SiteFrame& frame) {
  Table table = table_at(
      json, "/platforms", fmt::format("Platforms against {}, the fastest first", data.baseline),
      {texts("platform"), ratios("ratio", "ratio/value"),
       ratios("from", "ratio/low", "95 % interval"), ratios("to", "ratio/high", "95 % interval"),
       shares("faster than the next", "faster_than_next_probability", "probability"),
       shares("fastest of all", "first_probability", "probability"), counts("benchmarks"),
       counts("predicted"), shares("weight covered", "weight_covered"),
       texts("what drives it", "drivers")});
  for (std::size_t i = 0; i < data.platforms.size(); ++i) {
    if (!frame.fleet_name.empty()) {
      table.rows[i].front() =
          link_cell(data.platforms[i].platform, page_name("platform", data.platforms[i].platform));
    }
  }
  table.plots = {{.draw = Draw::kInterval,
                  .caption = fmt::format("Time on each platform ÷ time on {}, weighted over the "
                                         "fleet, with 95 % intervals; left of the line is faster.",
                                         data.baseline),
                  .columns = {1, 2, 3},
                  .reference = 1}};
  return {"ranking", "Ranking", {table}};
}

Section drivers_section(const Json& json) {
  return {"classes",
          "Classes",
          {table_at(json, "/classes",
                    "What each class of operators has of the difference; negative: "
                    "time gained",
                    {texts("class"), changes("part of (ratio − 1)", "part")})}};
}

/// `at`: JSON pointer to the platform. Its jobs are links only within a site.
Section rows_section(const fleet::PlatformComparison& data, const fleet::PlatformSummary& platform,
                     const Json& json, const std::string& at, const SiteFrame& frame) {
  std::string id = "benchmarks" + at;
  std::ranges::replace(id, '/', '-');
  Table table = table_at(
      json, at + "/benchmark_ratios", "Benchmarks on " + platform.platform,
      {texts("job"), ratios("ratio", "ratio/value"), ratios("from", "ratio/low", "95 % interval"),
       ratios("to", "ratio/high", "95 % interval"), figures("weight"), texts("predicted")});
  link_jobs(table, frame, "job");
  table.plots = {{.draw = Draw::kInterval,
                  .caption = fmt::format(
                      "Time here ÷ time on {} by benchmark, with 95 % intervals.", data.baseline),
                  .columns = {1, 2, 3},
                  .reference = 1}};
  return {id, "Benchmarks on " + platform.platform, {table}};
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
  Json platforms = Json::array();
  for (std::size_t i = 0; i < data.platforms.size(); ++i) {
    platforms.push_back(json_of_platform(data, i));
  }
  const Json json = {{"format", "understudy-fleet-platforms"},
                     {"version", 1},
                     {"baseline", data.baseline},
                     {"jobs", data.jobs},
                     {"common", data.common},
                     {"without_common", data.without_common},
                     {"platforms", std::move(platforms)}};
  page.sections = {ranking_section(data, json, frame)};
  for (std::size_t i = 0; i < data.platforms.size() && frame.fleet_name.empty(); ++i) {
    if (data.platforms[i].platform != data.baseline) {
      page.sections.push_back(
          rows_section(data, data.platforms[i], json, fmt::format("/platforms/{}", i), frame));
    }
  }
  set_data(page, json, "platforms.json", 1);
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
  const Json json = json_of_platform(data, index);
  page.sections = {rows_section(data, platform, json, "", frame), drivers_section(json)};
  set_data(page, json, "platform.json");
  return page;
}

}  // namespace understudy::pages
