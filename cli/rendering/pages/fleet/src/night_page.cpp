#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/figures.h"
#include "fleet_parts.h"

namespace understudy::pages {
namespace {

using cli::with_commas;

std::string verdict_of(const NightData& data, std::uint64_t failed) {
  const FleetNight& night = data.night;
  const std::string end = night.night.closed_utc.empty() ? "still open" : "done";
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, const char* what) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", with_commas(count), what));
    }
  };
  add(failed, "failed");
  add(night.broken, "broken");
  add(night.still_broken, "still broken");
  add(night.slower, "slower");
  add(night.drifted, "drifted");
  add(night.faster, "faster");
  add(night.recovered, "recovered");
  add(night.turned, "turned in a night before");
  add(night.unjudged, "not judged");
  return fmt::format("Night {} is {}: of {} jobs {} unchanged, {} made anew, {} replayed; {}.",
                     night.night.id, end, with_commas(static_cast<std::uint64_t>(night.night.jobs)),
                     with_commas(night.unchanged), with_commas(night.generated),
                     with_commas(night.replayed),
                     parts.empty() ? "nothing failed, broke, got slower or drifted"
                                   : fmt::format("{}", fmt::join(parts, ", ")));
}

Json json_of_item(const NightItem& item) {
  return {{"job", item.job},
          {"kind", item.work.kind},
          {"platform", item.work.platform},
          {"state", item.work.outcome},
          {"duration_s", json_of(item.work.seconds)},
          {"attempts", item.work.attempts},
          {"text", item.work.detail}};
}

Section items_section(const NightData& data, const Json& json) {
  Table table =
      table_at(json, "/items", "Work of the night",
               {texts("job"), texts("what", "kind"), verdicts("state"), texts("platform"),
                figures("seconds", "duration_s"), counts("attempts"), texts("more", "text")});
  link_jobs(table, data.frame, "job");
  return {"items", "Work", {table}};
}

Section about_section(const NightData& data) {
  const FleetNight& night = data.night;
  const std::string& closed = night.night.closed_utc;
  Facts facts = {{"opened", night.night.opened_utc},
                 {"closed", closed.empty() ? "still open" : closed},
                 {"seconds", number_cell(night.duration_s), CellKind::kFigure},
                 {"platforms", fmt::format("{}", fmt::join(data.platforms, ", "))}};
  if (!data.before_href.empty()) {
    facts.push_back({"before", Link{"the night before", data.before_href}});
  }
  if (!data.after_href.empty()) {
    facts.push_back({"after", Link{"the night after", data.after_href}});
  }
  return {"about", "The night", {facts}};
}

}  // namespace

Page night_page(const NightData& data) {
  const auto failed = static_cast<std::uint64_t>(std::ranges::count_if(
      data.items, [](const NightItem& item) { return item.work.outcome == "failed"; }));
  const std::uint64_t bad =
      failed + data.night.broken + data.night.still_broken + data.night.slower;
  const std::uint64_t attention = data.night.drifted + data.night.turned + data.night.unjudged;
  const std::string& closed = data.night.night.closed_utc;
  Page page = framed(data.frame);
  page.title = fmt::format("Night {}", data.night.night.id);
  page.subtitle = data.night.night.opened_utc;
  page.tone = bad > 0          ? Tone::kBad
              : attention > 0  ? Tone::kAttention
              : closed.empty() ? Tone::kNeutral
                               : Tone::kGood;
  page.verdict = verdict_of(data, failed);
  Json items = Json::array();
  for (const NightItem& item : data.items) {
    items.push_back(json_of_item(item));
  }
  const Json json = {{"page", "night"},
                     {"night", json_of(data.night)},
                     {"closed", closed},
                     {"platforms", data.platforms},
                     {"events", events_json(data.events, false)},
                     {"items", std::move(items)}};
  page.sections = {events_section(data.frame, json, false), items_section(data, json),
                   about_section(data)};
  set_data(page, json, "night.json");
  return page;
}

}  // namespace understudy::pages
