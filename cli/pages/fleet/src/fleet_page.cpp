#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/pages/document/table.h"
#include "et_schema/base/figures.h"
#include "fleet_parts.h"

namespace understudy::pages {
namespace {

Section jobs_section(const Json& document, const SiteFrame& frame) {
  Table table = table_at(document, "/jobs", "Jobs, with the newest result of each",
                         {texts("job", "name"), verdicts("state"), figures("weight"),
                          figures("ms", "ms", 1, "median of an iteration"),
                          figures("from", "low_ms", 1, "95 % interval of the median"),
                          figures("to", "high_ms", 1, "95 % interval of the median"),
                          ratios("change", "change", "÷ the nights before"), percents("coverage"),
                          texts("platform"), texts("tags"), texts("note")});
  link_jobs(table, frame, "name");
  return {"jobs", "Jobs", {table}};
}

Section nights_section(const Json& document, const SiteFrame& frame) {
  Table by_night =
      table_at(document, "/nights", "",
               {texts("night", "name"), counts("slower"), counts("broken"), counts("drifted")});
  std::ranges::reverse(by_night.rows);
  if (by_night.rows.size() < 2) {
    by_night.rows.clear();
  }
  Table table =
      table_at(document, "/nights", "Nights, the newest first",
               {texts("night", "name"), texts("date"), verdicts("state"), counts("jobs"),
                counts("unchanged"), counts("generated"), counts("replayed"), counts("broken"),
                counts("slower"), counts("faster"),
                counts("recovered", "recovered", "as fast again as before"), counts("drifted"),
                counts("turned", "turned", "series, in a night before"),
                counts("not judged", "unjudged", "the machine was not as before"),
                figures("seconds", "duration_s")});
  table.shown = 20;
  link_nights(table, frame, "name");
  return {"nights",
          "Nights",
          {drawn(std::move(by_night),
                 {.draw = Draw::kSeries,
                  .caption = "Jobs that became slower, broke or drifted, by night.",
                  .columns = {1, 2, 3},
                  .unit = "jobs"}),
           table}};
}

Section platforms_section(const Json& document) {
  Table table =
      table_at(document, "/platforms", "Platforms",
               {texts("platform"), counts("benchmarks with a result", "benchmarks"),
                counts("predicted alone", "predicted"), texts("newest result", "newest")});
  Facts more;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Json& platform = document.at("platforms")[i];
    if (platform.at("has_page").get<bool>()) {
      const std::string name = text_in(platform, "platform");
      table.rows[i].front() = link_cell(name, page_name("platform", name));
      more = {{"more", Link{"Platforms against each other", "platforms.html"}}};
    }
  }
  return {"platforms", "Platforms", {table, more}};
}

}  // namespace

Page nights_page(const Json& document) {
  Page page;
  page.title = document.at("nights").empty() ? "No night yet" : "The fleet's nights";
  page.sections = {nights_section(document, {})};
  return made_by("fleet", std::move(page), document, "nights.json", 1);
}

Page fleet_page(const Json& document, const SiteFrame& frame, et_schema::Assessment verdict) {
  const Json& jobs = document.at("jobs");
  const auto with_result = std::ranges::count_if(
      jobs, [](const Json& job) { return !text_in(job, "platform").empty(); });
  Page page = framed(frame, true);
  page.title = "Fleet " + frame.fleet_name;
  page.verdict = std::move(verdict);
  page.figures = {{{"Jobs", jobs.size(), CellKind::kCount},
                   fmt::format("{} with a result",
                               et_schema::with_commas(static_cast<std::uint64_t>(with_result)))},
                  {{"Platforms", document.at("platforms").size(), CellKind::kCount}},
                  {{"Nights shown", document.at("nights").size(), CellKind::kCount}}};
  page.sections = {
      events_section(frame, document, false),
      jobs_section(document, frame),
      nights_section(document, frame),
      platforms_section(document),
      {"subsets",
       "Representatives",
       {table_at(document, "/subsets",
                 "The few that stand for the fleet: how far their time by class is from the "
                 "fleet's, beside random choices; `understudy fleet select` gives their weights.",
                 {texts("subset"), counts("benchmarks"), shares("apart by", "mix_distance"),
                  shares("random choice", "random_mix_distance"), texts("jobs")})}},
      {"classes",
       "Where the fleet's time goes",
       {class_share_bars(document, "Share of the fleet's time by class of operator, weighted.")}}};
  set_data(page, document, "fleet.json");
  return page;
}

}  // namespace understudy::pages
