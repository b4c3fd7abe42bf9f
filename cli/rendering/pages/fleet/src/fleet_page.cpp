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

using cli::with_commas;

std::string verdict_of(const FleetData& data) {
  if (data.nights.empty()) {
    return fmt::format("{} jobs; no night has run yet.", with_commas(data.jobs.size()));
  }
  const FleetNight& night = data.nights.front();
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, const char* what) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", are(count, "job"), what));
    }
  };
  add(night.broken, "broken");
  add(night.still_broken, "still broken");
  add(night.slower, "slower");
  add(night.drifted, "no longer what the benchmark stood for");
  add(night.faster, "faster");
  add(night.recovered, "as fast again as before it became slower");
  if (night.turned > 0) {
    parts.push_back(fmt::format("{} series turned in a night before", with_commas(night.turned)));
  }
  add(night.unjudged, "not judged: the machine was not as before");
  const std::string when = fmt::format("Night {}, {}", night.name, night.date);
  if (night.state == "open") {
    parts.emplace_back("it is still going on");
  }
  // A job can be replayed on several platforms, and several jobs can have one benchmark.
  return fmt::format("{}: {} job{}, {} replay{}; {}.", when, with_commas(night.jobs),
                     night.jobs == 1 ? "" : "s", with_commas(night.replayed),
                     night.replayed == 1 ? "" : "s",
                     parts.empty() ? "nothing got slower, broke or drifted"
                                   : fmt::format("{}", fmt::join(parts, ", ")));
}

Tone tone_of(const FleetData& data) {
  if (data.nights.empty()) {
    return Tone::kNeutral;
  }
  const FleetNight& night = data.nights.front();
  if (night.broken + night.still_broken + night.slower > 0) {
    return Tone::kBad;
  }
  return night.drifted + night.turned + night.unjudged > 0 ? Tone::kAttention : Tone::kGood;
}

Json json_of_job(const FleetJob& job) {
  return {{"name", job.name},
          {"state", job.state},
          {"weight", json_of(job.weight)},
          {"platform", job.platform},
          {"ms", json_of(job.time.ms)},
          {"low_ms", json_of(job.time.low_ms)},
          {"high_ms", json_of(job.time.high_ms)},
          {"change", json_of(job.change)},
          {"coverage", json_of(job.coverage)},
          {"tags", job.tags},
          {"note", job.note}};
}

Section jobs_section(const FleetData& data) {
  Table table{.id = "job-table",
              .caption = "Jobs, with the newest result of each",
              .columns = {{"job", CellKind::kText, "name"},
                          {"state", CellKind::kVerdict, "state"},
                          {"weight", CellKind::kFigure, "weight"},
                          {"ms", CellKind::kFigure, "ms", "median of an iteration"},
                          {"from", CellKind::kFigure, "low_ms", "95 % interval of the median"},
                          {"to", CellKind::kFigure, "high_ms", "95 % interval of the median"},
                          {"change", CellKind::kRatio, "change", "÷ the nights before"},
                          {"coverage", CellKind::kPercent, "coverage"},
                          {"platform", CellKind::kText, "platform"},
                          {"tags", CellKind::kText, "tags"},
                          {"note", CellKind::kText, "note"}},
              .at = "/jobs"};
  for (const FleetJob& job : data.jobs) {
    table.rows.push_back({link_cell(job.name, job.href), text_cell(job.state),
                          number_cell(job.weight), number_cell(job.time.ms),
                          number_cell(job.time.low_ms), number_cell(job.time.high_ms),
                          number_cell(job.change), number_cell(job.coverage),
                          text_cell(job.platform), text_cell(job.tags), text_cell(job.note)});
  }
  return {"jobs", "Jobs", table_markup(table)};
}

Section nights_section(const FleetData& data) {
  Table table{
      .id = "night-table",
      .caption = "Nights, the newest first",
      .columns = {{"night", CellKind::kText, "name"},
                  {"date", CellKind::kText, "date"},
                  {"state", CellKind::kVerdict, "state"},
                  {"jobs", CellKind::kCount, "jobs"},
                  {"unchanged", CellKind::kCount, "unchanged"},
                  {"generated", CellKind::kCount, "generated"},
                  {"replayed", CellKind::kCount, "replayed"},
                  {"broken", CellKind::kCount, "broken"},
                  {"slower", CellKind::kCount, "slower"},
                  {"faster", CellKind::kCount, "faster"},
                  {"recovered", CellKind::kCount, "recovered", "as fast again as before"},
                  {"drifted", CellKind::kCount, "drifted"},
                  {"turned", CellKind::kCount, "turned", "series, in a night before"},
                  {"not judged", CellKind::kCount, "unjudged", "the machine was not as before"},
                  {"seconds", CellKind::kFigure, "duration_s"}},
      .at = "/nights",
      .shown = 20};
  Series plot{.id = "night-series",
              .caption = "Jobs that became slower, broke or drifted, by night.",
              .unit = "jobs",
              .place = "night",
              .lines = {{"slower", {}}, {"broken", {}}, {"drifted", {}}}};
  for (const FleetNight& night : data.nights) {
    table.rows.push_back({link_cell(night.name, night.href), text_cell(night.date),
                          text_cell(night.state), night.jobs, night.unchanged, night.generated,
                          night.replayed, night.broken, night.slower, night.faster, night.recovered,
                          night.drifted, night.turned, night.unjudged,
                          number_cell(night.duration_s)});
  }
  for (std::size_t i = data.nights.size(); i-- > 0;) {
    const FleetNight& night = data.nights[i];
    plot.places.push_back(night.name);
    plot.lines[0].values.emplace_back(static_cast<double>(night.slower));
    plot.lines[1].values.emplace_back(static_cast<double>(night.broken));
    plot.lines[2].values.emplace_back(static_cast<double>(night.drifted));
  }
  return {"nights", "Nights",
          (data.nights.size() > 1 ? series(plot) : Markup()) + table_markup(table)};
}

Section platforms_section(const FleetData& data) {
  Table table{.id = "platform-table",
              .caption = "Platforms",
              .columns = {{"platform"},
                          {"benchmarks with a result", CellKind::kCount},
                          {"predicted alone", CellKind::kCount},
                          {"newest result"}}};
  for (const FleetPlatform& platform : data.platforms) {
    table.rows.push_back({link_cell(platform.name, platform.href), platform.benchmarks,
                          platform.predicted, text_cell(platform.newest)});
  }
  Markup body = table_markup(table);
  if (!body.empty() && !data.platforms_href.empty()) {
    body += element("p", {}, link_markup({"Platforms against each other", data.platforms_href}));
  }
  return {"platforms", "Platforms", body};
}

Section subsets_section(const FleetData& data) {
  Table table{.id = "subset-table",
              .caption =
                  "The few that stand for the fleet: how far their time by class is from the "
                  "fleet's, beside random choices; `fleet select` gives their weights.",
              .columns = {{"subset"},
                          {"benchmarks", CellKind::kCount},
                          {"apart by", CellKind::kShare},
                          {"random choice", CellKind::kShare},
                          {"jobs"}}};
  for (const FleetSubset& subset : data.subsets) {
    table.rows.push_back({subset.name, subset.benchmarks, number_cell(subset.mix_distance),
                          number_cell(subset.random_mix_distance), text_cell(subset.text)});
  }
  return {"subsets", "Representatives", table_markup(table)};
}

}  // namespace

Page fleet_page(const FleetData& data) {
  Page page;
  page.title = "Fleet " + data.name;
  page.subtitle = data.date;
  page.tone = tone_of(data);
  page.verdict = verdict_of(data);
  std::uint64_t with_result = 0;
  for (const FleetJob& job : data.jobs) {
    with_result += std::isfinite(job.time.ms) ? 1U : 0U;
  }
  page.figures = {{"Jobs", text(with_commas(data.jobs.size())),
                   fmt::format("{} with a result", with_commas(with_result))},
                  {"Platforms", text(with_commas(data.platforms.size()))},
                  {"Nights shown", text(with_commas(data.nights.size()))}};
  page.sections = {events_section(data.events, false),
                   jobs_section(data),
                   nights_section(data),
                   platforms_section(data),
                   subsets_section(data),
                   {"classes", "Where the fleet's time goes",
                    class_share_bars(data.class_share,
                                     "Share of the fleet's time by class of operator, weighted.")}};
  Json jobs = Json::array();
  for (const FleetJob& job : data.jobs) {
    jobs.push_back(json_of_job(job));
  }
  page.data = data_text("fleet", {{"name", data.name},
                                  {"date", data.date},
                                  {"events", json_list(data.events)},
                                  {"jobs", std::move(jobs)},
                                  {"nights", json_list(data.nights)},
                                  {"class_share", data.class_share}});
  page.data_name = "fleet.json";
  page.footer = "Understudy " + data.tool_version;
  return page;
}

}  // namespace understudy::pages
