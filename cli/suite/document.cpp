#include "document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/json_record.h"
#include "et_schema/base/statistics.h"
#include "et_schema/base/version.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using fleet::SuitePlatform;
using fleet::SuiteReplays;
using fleet::SuiteRow;
using pages::Column;

constexpr int kSuiteVersion = 1;

Json speed_json(const et_schema::Interval& speed) {
  const bool tells = fleet::tells(speed);
  return {{"value", speed.value},
          {"low", tells ? Json(speed.low) : Json(nullptr)},
          {"high", tells ? Json(speed.high) : Json(nullptr)}};
}

/// Returns what the whole interval shows.
const char* verdict_on(const et_schema::Interval& speed) {
  return speed.high < 1 ? "slower" : speed.low > 1 ? "faster" : "";
}

template <typename Row, typename JsonOf>
Json list_of(const std::vector<Row>& rows, const JsonOf& json_of_row) {
  Json list = Json::array();
  std::ranges::transform(rows, std::back_inserter(list), json_of_row);
  return list;
}

Json class_json(const SuiteRow& row) {
  return {{"class", row.name},
          {"speed", speed_json(row.speed)},
          {"verdict", verdict_on(row.speed)},
          {"share", row.share},
          {"finding", row.finding}};
}

Json step_json(const SuiteRow& step) {
  return {{"step", step.name},
          {"speed", speed_json(step.speed)},
          {"verdict", verdict_on(step.speed)},
          {"here_ms", step.here_ms},
          {"there_ms", step.there_ms},
          {"of", step.by_iteration ? "iteration" : "operators"},
          {"clock", et_schema::json_of(step.clock)},
          {"classes", list_of(step.classes, class_json)}};
}

Json difference_json(const comparer::EnvironmentDifference& row) {
  return {{"field", row.field}, {"here", row.a}, {"there", row.b}};
}

Json platform_json(const SuitePlatform& platform) {
  return {{"platform", platform.name},
          {"times", platform.is_recorded ? "recorded" : "replayed"},
          {"speed", speed_json(platform.speed)},
          {"sentence", fleet::sentence_of(platform)},
          {"steps", list_of(platform.steps, step_json)},
          {"classes", list_of(platform.classes, class_json)},
          {"differences", list_of(platform.differences, difference_json)}};
}

Json replays_json(const SuiteReplays& each) {
  Json row = {
      {"step", each.step.name}, {"replays", each.reports.size()}, {"failure", each.failure}};
  std::vector<double> medians_ms;
  for (const et_schema::Report& report : each.reports) {
    medians_ms.push_back(report.total.iteration_ms.median.value_or(0));
    row["coverage"] = et_schema::json_of(report.total.coverage.count);
    row["operators"] = report.total.coverage.selected;
    row["exact"] = report.total.coverage.exact;
  }
  row["median_ms"] = et_schema::json_of(et_schema::median(medians_ms));
  row["clock_mhz"] = et_schema::json_of(fleet::gpu_clock_mhz(each.reports));
  return row;
}

/// Returns a table of speeds, drawn as intervals, with `more` columns.
pages::Table speeds_at(const Json& document, const std::string& at, std::string caption,
                       const char* first, const std::vector<Column>& more) {
  std::vector<Column> columns = {
      pages::texts(first), pages::ratios("speed", "speed/value", "here ÷ there"),
      pages::ratios("from", "speed/low", "95 % interval"),
      pages::ratios("to", "speed/high", "95 % interval"), pages::verdicts("verdict")};
  columns.insert(columns.end(), more.begin(), more.end());
  pages::Table table = pages::table_at(document, at, std::move(caption), std::move(columns));
  // Indexes of the columns above.
  table.plots = {
      {.draw = pages::Draw::kInterval,
       .caption =
           "Speed here ÷ there, with 95 % intervals; left of the line this machine takes longer.",
       .columns = {1, 2, 3},
       .words = 4,
       .reference = 1}};
  return table;
}

/// Adds the platform's sections: the newest first, its steps' classes behind all others.
void add_platform(const Json& document, std::size_t index, pages::Page& page) {
  const Json& platform = document["platforms"][index];
  const std::string at = fmt::format("/platforms/{}", index);
  const std::string name =
      platform["platform"].get<std::string>() + ", " + platform["times"].get<std::string>();
  const Column share = pages::shares("share", "share", "of the time there");
  std::vector<pages::Block> blocks = {
      speeds_at(document, at + "/steps", "Steps against " + name, "step",
                {pages::figures("here ms", "here_ms"), pages::figures("there ms", "there_ms"),
                 pages::ratios("clock", "clock", "here ÷ there"), pages::texts("time of", "of")}),
      speeds_at(document, at + "/classes", "Classes of operators against " + name, "class",
                {share, pages::texts("finding", "finding", "beside the whole")}),
      pages::table_at(document, at + "/differences", "Fields in which the environments differ",
                      {pages::texts("field"), pages::texts("here"), pages::texts("there")})};
  pages::Section steps{fmt::format("steps-{}", index), "Steps by class against " + name, {}};
  for (std::size_t i = 0; i < platform["steps"].size(); ++i) {
    pages::Table table = speeds_at(document, fmt::format("{}/steps/{}/classes", at, i),
                                   "Classes of " + platform["steps"][i]["step"].get<std::string>(),
                                   "class", {share});
    table.shown_in_text = 0;
    steps.blocks.push_back(std::move(table));
  }
  page.sections.insert(page.sections.begin(),
                       {fmt::format("platform-{}", index), name, std::move(blocks)});
  page.sections.push_back(std::move(steps));
}

pages::Section replays_section(const Json& document) {
  return {"replays",
          "What was replayed here",
          {pages::table_at(document, "/replays", "Steps, each replay a process",
                           {pages::texts("step"), pages::counts("replays"),
                            pages::figures("iteration ms", "median_ms"),
                            pages::percents("replayed", "coverage", "share of the operators"),
                            pages::counts("operators"), pages::counts("as recorded", "exact"),
                            pages::figures("clock MHz", "clock_mhz"), pages::texts("failure")})}};
}

}  // namespace

pages::Page suite_page(const std::string& folder, const std::vector<SuiteReplays>& replays) {
  const std::vector<SuitePlatform> platforms = fleet::compare_suite(replays);
  Json document = {{"format", "understudy-suite"},
                   {"version", kSuiteVersion},
                   {"tool_version", et_schema::kToolVersion},
                   {"folder", folder},
                   {"platforms", list_of(platforms, platform_json)},
                   {"replays", list_of(replays, replays_json)}};
  pages::Page page;
  const std::filesystem::path path(folder);
  page.title = "Suite of " + (path.has_filename() ? path : path.parent_path()).filename().string();
  for (const SuiteReplays& each : replays) {
    if (!each.reports.empty()) {
      const et_schema::Environment& here = each.reports.back().environment;
      page.subtitle = here.device == "cpu" ? here.cpu_model : here.device;
    }
  }
  document["device"] = page.subtitle;
  document["sentence"] = platforms.empty() ? "" : fleet::sentence_of(platforms.back());
  page.verdict = {.sentence = document["sentence"].get<std::string>(),
                  .findings = fleet::findings_of(replays)};
  page.sections.push_back(replays_section(document));
  for (std::size_t i = 0; i < platforms.size(); ++i) {
    add_platform(document, i, page);
    if (i + 1 < platforms.size()) {
      page.verdict.findings.push_back(fleet::sentence_of(platforms[i]));
    }
  }
  return made_by("suite", std::move(page), document, "suite.json", 1);
}

}  // namespace understudy::cli
