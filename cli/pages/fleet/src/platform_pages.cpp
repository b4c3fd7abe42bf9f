#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/pages/document/walked.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/interval_members.h"
#include "et_schema/base/json_record.h"
#include "fleet/analysis/assessment.h"
#include "fleet_parts.h"

namespace understudy::fleet {

using et_schema::CellKind;

void members(auto& walk, et_schema::SameAs<BenchmarkRatio> auto& row) {
  walk("job", row.job, "job");
  walk("ratio", row.ratio, "ratio", "95 % interval", CellKind::kRatio);
  walk("weight", row.weight, "weight");
  walk("predicted", row.is_predicted, "predicted", CellKind::kText);
}

void members(auto& walk, et_schema::SameAs<ClassPart> auto& row) {
  walk("class", row.name, "class");
  walk("part", row.part, "part of (ratio − 1)", CellKind::kChange);
}

}  // namespace understudy::fleet

namespace understudy::pages {
namespace {

/// Returns "convolution +4.1 %, copy −0.7 %".
std::string drivers_of(const fleet::PlatformSummary& platform) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> parts;
  for (const auto& [name, part] : platform.classes) {
    if (parts.size() < kNamed && std::isfinite(part)) {
      parts.push_back(fmt::format("{} {:+.1f} %", name, part * et_schema::kPercent));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json json_of_platform(const fleet::PlatformComparison& data, std::size_t index) {
  const fleet::PlatformSummary& platform = data.platforms[index];
  return {{"platform", platform.platform},
          {"benchmarks", platform.benchmarks},
          {"predicted", platform.predicted},
          {"without_interval", platform.without_interval},
          {"weight_covered", platform.weight_covered},
          {"ratio", et_schema::json_of(platform.ratio)},
          {"first_probability", platform.first_probability},
          {"faster_than_next_probability",
           index < data.faster_than_next.size() ? Json(data.faster_than_next[index]) : Json()},
          {"drivers", drivers_of(platform)},
          {"classes", et_schema::json_of(platform.classes)},
          {"benchmark_ratios", et_schema::json_of(platform.rows)}};
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
                    columns_of<fleet::ClassPart>())}};
}

/// `at`: JSON pointer to the platform. Its jobs are links only within a site.
Section rows_section(const fleet::PlatformComparison& data, const fleet::PlatformSummary& platform,
                     const Json& json, const std::string& at, const SiteFrame& frame) {
  std::string id = "benchmarks" + at;
  std::ranges::replace(id, '/', '-');
  Table table = table_at(json, at + "/benchmark_ratios", "Benchmarks on " + platform.platform,
                         columns_of<fleet::BenchmarkRatio>());
  link_jobs(table, frame, "job");
  table.plots = {{.draw = Draw::kInterval,
                  .caption = fmt::format(
                      "Time here ÷ time on {} by benchmark, with 95 % intervals.", data.baseline),
                  .columns = {1, 2, 3},
                  .reference = 1}};
  return {id, "Benchmarks on " + platform.platform, {table}};
}

}  // namespace

Page platforms_page(const fleet::PlatformComparison& data, const SiteFrame& frame) {
  Page page = framed(frame);
  page.title = "Platforms against " + data.baseline;
  page.verdict = fleet::verdict_of(data);
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
  page.verdict = fleet::verdict_of(data, platform);
  const Json json = json_of_platform(data, index);
  page.sections = {rows_section(data, platform, json, "", frame), drivers_section(json)};
  set_data(page, json, "platform.json");
  return page;
}

}  // namespace understudy::pages
