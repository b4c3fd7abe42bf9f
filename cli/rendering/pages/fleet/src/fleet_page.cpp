#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "common/figures.h"
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
  const std::string when = fmt::format("Night {}, {}", night.night.id, night.night.opened_utc);
  if (night.night.closed_utc.empty()) {
    parts.emplace_back("it is still going on");
  }
  // A job can be replayed on several platforms, and several jobs can have one
  // benchmark.
  return fmt::format("{}: {} job{}, {} replay{}; {}.", when,
                     with_commas(static_cast<std::uint64_t>(night.night.jobs)),
                     night.night.jobs == 1 ? "" : "s", with_commas(night.replayed),
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

/// Of its newest result; NaN where it has none.
double figure_of(const FleetJob& job, double figure) {
  return job.newest.platform.empty() ? std::numeric_limits<double>::quiet_NaN() : figure;
}

Json json_of_job(const FleetJob& job) {
  return {{"name", job.name},
          {"state", job.state},
          {"weight", json_of(job.weight)},
          {"platform", job.newest.platform},
          {"ms", json_of(figure_of(job, job.newest.median_ms))},
          {"low_ms", json_of(figure_of(job, job.newest.low_ms))},
          {"high_ms", json_of(figure_of(job, job.newest.high_ms))},
          {"change", json_of(job.change)},
          {"coverage", json_of(figure_of(job, job.newest.coverage))},
          {"tags", job.tags},
          {"note", job.note}};
}

Section jobs_section(const FleetData& data, const Json& json) {
  Table table = table_at(json, "/jobs", "Jobs, with the newest result of each",
                         {texts("job", "name"), verdicts("state"), figures("weight"),
                          figures("ms", "ms", 1, "median of an iteration"),
                          figures("from", "low_ms", 1, "95 % interval of the median"),
                          figures("to", "high_ms", 1, "95 % interval of the median"),
                          ratios("change", "change", "÷ the nights before"), percents("coverage"),
                          texts("platform"), texts("tags"), texts("note")});
  link_jobs(table, data.frame, "name");
  return {"jobs", "Jobs", {table}};
}

Section nights_section(const FleetData& data, const Json& json) {
  Series plot{.id = "night-series",
              .caption = "Jobs that became slower, broke or drifted, by night.",
              .unit = "jobs",
              .place = "night",
              .lines = {{"slower", {}}, {"broken", {}}, {"drifted", {}}}};
  Table table =
      table_at(json, "/nights", "Nights, the newest first",
               {texts("night", "name"), texts("date"), verdicts("state"), counts("jobs"),
                counts("unchanged"), counts("generated"), counts("replayed"), counts("broken"),
                counts("slower"), counts("faster"),
                counts("recovered", "recovered", "as fast again as before"), counts("drifted"),
                counts("turned", "turned", "series, in a night before"),
                counts("not judged", "unjudged", "the machine was not as before"),
                figures("seconds", "duration_s")});
  table.shown = 20;
  link_nights(table, data.frame, "name");
  for (std::size_t i = data.nights.size(); i-- > 0;) {
    const FleetNight& night = data.nights[i];
    plot.places.push_back(fmt::format("{}", night.night.id));
    plot.lines[0].values.emplace_back(static_cast<double>(night.slower));
    plot.lines[1].values.emplace_back(static_cast<double>(night.broken));
    plot.lines[2].values.emplace_back(static_cast<double>(night.drifted));
  }
  return {"nights", "Nights", {data.nights.size() > 1 ? series(plot) : Markup(), table}};
}

Section platforms_section(const FleetData& data) {
  Table table{.id = "platform-table",
              .caption = "Platforms",
              .columns = {texts("platform"), counts("benchmarks with a result"),
                          counts("predicted alone"), texts("newest result")}};
  bool has_pages = false;
  for (const FleetPlatform& platform : data.platforms) {
    const std::string page = platform.has_page ? page_name("platform", platform.name) : "";
    has_pages = has_pages || platform.has_page;
    table.rows.push_back({link_cell(platform.name, page), platform.benchmarks, platform.predicted,
                          text_cell(platform.newest)});
  }
  Facts more;
  if (has_pages) {
    more.push_back({"more", Link{"Platforms against each other", "platforms.html"}});
  }
  return {"platforms", "Platforms", {table, more}};
}

/// Its jobs, the weightiest first, as many as a cell holds.
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

Section subsets_section(const FleetData& data) {
  Table table{.id = "subset-table",
              .caption =
                  "The few that stand for the fleet: how far their time by class is "
                  "from the "
                  "fleet's, beside random choices; `fleet select` gives their weights.",
              .columns = {texts("subset"), counts("benchmarks"), shares("apart by"),
                          shares("random choice"), texts("jobs")}};
  for (const fleet::Selection& subset : data.subsets) {
    table.rows.push_back({fmt::format("{} of {} jobs", subset.jobs.size(), data.jobs.size()),
                          subset.jobs.size(), number_cell(subset.mix_distance),
                          number_cell(subset.random_mix_distance), text_cell(weightiest(subset))});
  }
  return {"subsets", "Representatives", {table}};
}

}  // namespace

Page fleet_page(const FleetData& data) {
  Json jobs = Json::array();
  for (const FleetJob& job : data.jobs) {
    jobs.push_back(json_of_job(job));
  }
  const Json json = {{"page", "fleet"},
                     {"name", data.frame.fleet_name},
                     {"date", data.frame.date},
                     {"events", events_json(data.events, false)},
                     {"jobs", std::move(jobs)},
                     {"nights", json_list(data.nights)},
                     {"class_share", data.class_share}};
  Page page = framed(data.frame, true);
  page.title = "Fleet " + data.frame.fleet_name;
  page.tone = tone_of(data);
  page.verdict = verdict_of(data);
  std::uint64_t with_result = 0;
  for (const FleetJob& job : data.jobs) {
    with_result += job.newest.platform.empty() ? 0U : 1U;
  }
  page.figures = {{{"Jobs", data.jobs.size(), CellKind::kCount},
                   fmt::format("{} with a result", with_commas(with_result))},
                  {{"Platforms", data.platforms.size(), CellKind::kCount}},
                  {{"Nights shown", data.nights.size(), CellKind::kCount}}};
  page.sections = {
      events_section(data.frame, json, false),
      jobs_section(data, json),
      nights_section(data, json),
      platforms_section(data),
      subsets_section(data),
      {"classes",
       "Where the fleet's time goes",
       {class_share_bars(data.class_share,
                         "Share of the fleet's time by class of operator, weighted.")}}};
  set_data(page, json, "fleet.json");
  return page;
}

}  // namespace understudy::pages
