#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/table.h"
#include "fleet_parts.h"

namespace understudy::pages {
namespace {

using cli::with_commas;

std::string verdict_of(const NightData& data, std::uint64_t failed) {
  const FleetNight& night = data.night;
  const std::string end = data.closed.empty() ? "still open" : "done";
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
                     night.name, end, with_commas(night.jobs), with_commas(night.unchanged),
                     with_commas(night.generated), with_commas(night.replayed),
                     parts.empty() ? "nothing failed, broke, got slower or drifted"
                                   : fmt::format("{}", fmt::join(parts, ", ")));
}

Json json_of_item(const NightItem& item) {
  return {{"job", item.job},
          {"kind", item.kind},
          {"platform", item.platform},
          {"state", item.state},
          {"duration_s", json_of(item.duration_s)},
          {"attempts", item.attempts},
          {"text", item.text}};
}

Section items_section(const NightData& data) {
  Table table{.id = "item-table",
              .caption = "Work of the night",
              .columns = {{"job", CellKind::kText, "job"},
                          {"what", CellKind::kText, "kind"},
                          {"state", CellKind::kVerdict, "state"},
                          {"platform", CellKind::kText, "platform"},
                          {"seconds", CellKind::kFigure, "duration_s"},
                          {"attempts", CellKind::kCount, "attempts"},
                          {"more", CellKind::kText, "text"}},
              .at = "/items"};
  for (const NightItem& item : data.items) {
    table.rows.push_back({link_cell(item.job, item.job_href), text_cell(item.kind),
                          text_cell(item.state), text_cell(item.platform),
                          number_cell(item.duration_s), item.attempts, text_cell(item.text)});
  }
  return {"items", "Work", table_markup(table)};
}

Section about_section(const NightData& data) {
  const FleetNight& night = data.night;
  Markup neighbours;
  if (!data.before_href.empty()) {
    neighbours += link_markup({"the night before", data.before_href}) + text(" ");
  }
  if (!data.after_href.empty()) {
    neighbours += link_markup({"the night after", data.after_href});
  }
  return {
      "about", "The night",
      facts_markup({{"opened", text(night.date)},
                    {"closed", text(data.closed.empty() ? "still open" : data.closed)},
                    {"seconds", text(cell_text(number_cell(night.duration_s), CellKind::kFigure))},
                    {"platforms", text(fmt::format("{}", fmt::join(data.platforms, ", ")))},
                    {"other nights", neighbours}})};
}

}  // namespace

Page night_page(const NightData& data) {
  const auto failed = static_cast<std::uint64_t>(std::ranges::count_if(
      data.items, [](const NightItem& item) { return item.state == "failed"; }));
  const std::uint64_t bad =
      failed + data.night.broken + data.night.still_broken + data.night.slower;
  const std::uint64_t attention = data.night.drifted + data.night.turned + data.night.unjudged;
  Page page;
  page.title = "Night " + data.night.name;
  page.subtitle = data.night.date;
  if (!data.fleet_href.empty()) {
    page.above = {{"Fleet " + data.fleet_name, data.fleet_href}};
  }
  page.tone = bad > 0               ? Tone::kBad
              : attention > 0       ? Tone::kAttention
              : data.closed.empty() ? Tone::kNeutral
                                    : Tone::kGood;
  page.verdict = verdict_of(data, failed);
  page.sections = {events_section(data.events, false), items_section(data), about_section(data)};
  Json items = Json::array();
  for (const NightItem& item : data.items) {
    items.push_back(json_of_item(item));
  }
  page.data = data_text("night", {{"night", json_of(data.night)},
                                  {"closed", data.closed},
                                  {"platforms", data.platforms},
                                  {"events", json_list(data.events)},
                                  {"items", std::move(items)}});
  page.data_name = "night.json";
  page.footer = "Understudy " + data.tool_version;
  return page;
}

}  // namespace understudy::pages
