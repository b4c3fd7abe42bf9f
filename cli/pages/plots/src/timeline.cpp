#include "cli/pages/plots/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/pages/html/table.h"
#include "et_schema/base/stretches.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;
/// Colours there are; kinds beyond them share the last one.
constexpr std::size_t kColours = 10;

std::vector<TimelineEvent> sorted_events(const TimelineLane& lane) {
  std::vector<TimelineEvent> events = lane.events;
  std::ranges::stable_sort(events, [](const TimelineEvent& a, const TimelineEvent& b) {
    return a.start_ns < b.start_ns;
  });
  return events;
}

/// Time in which at least one event runs.
std::int64_t busy_ns(const std::vector<TimelineEvent>& events) {
  et_schema::Stretches stretches;
  for (const TimelineEvent& event : events) {
    stretches.push_back({event.start_ns, event.start_ns + event.duration_ns});
  }
  return total_ns(et_schema::merged_stretches(std::move(stretches)));
}

struct Extent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

Extent extent_of(const Timeline& plot) {
  Extent extent;
  bool is_first = true;
  for (const TimelineLane& lane : plot.lanes) {
    for (const TimelineEvent& event : lane.events) {
      const std::int64_t end = event.start_ns + event.duration_ns;
      extent.begin_ns = is_first ? event.start_ns : std::min(extent.begin_ns, event.start_ns);
      extent.end_ns = is_first ? end : std::max(extent.end_ns, end);
      is_first = false;
    }
  }
  return extent;
}

/// Each event has four numbers: start, duration, name, kind.
Json data_of(const Timeline& plot, const Extent& extent) {
  Json lanes = Json::array();
  for (const TimelineLane& lane : plot.lanes) {
    Json events = Json::array();
    for (const TimelineEvent& event : sorted_events(lane)) {
      events.push_back(event.start_ns);
      events.push_back(event.duration_ns);
      events.push_back(event.name);
      events.push_back(event.kind);
    }
    lanes.push_back({{"group", lane.group}, {"name", lane.name}, {"events", std::move(events)}});
  }
  return {{"begin", extent.begin_ns},
          {"end", extent.end_ns},
          {"names", plot.names},
          {"kinds", plot.kinds},
          {"lanes", std::move(lanes)}};
}

Markup legend_of(const std::vector<std::string>& kinds) {
  Markup items;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Markup colour =
        element("svg", {{"viewBox", "0 0 10 10"}, {"aria-hidden", "true"}},
                element("rect", {{"width", "10"},
                                 {"height", "10"},
                                 {"class", fmt::format("f{}", std::min(i, kColours - 1))}}));
    items += element("li", {}, colour + text(kinds[i]));
  }
  return element("ul", {{"class", "legend"}}, items);
}

Markup lanes_table(const Timeline& plot, const Extent& extent) {
  Table table{.id = plot.id + "-lanes",
              .caption = "Lanes of the timeline",
              .columns = {{"lane"},
                          {"events", CellKind::kCount},
                          {"busy ms", CellKind::kFigure},
                          {"share of the whole", CellKind::kShare}},
              .shown = 20};
  const auto whole = static_cast<double>(extent.end_ns - extent.begin_ns);
  for (const TimelineLane& lane : plot.lanes) {
    const auto busy = static_cast<double>(busy_ns(sorted_events(lane)));
    table.rows.push_back(
        {lane.group.empty() ? lane.name : fmt::format("{}, {}", lane.group, lane.name),
         static_cast<std::uint64_t>(lane.events.size()), cell_of(std::optional(busy / kNsPerMs)),
         cell_of(std::optional(busy / whole))});
  }
  return table_markup(table);
}

}  // namespace

Markup timeline(const Timeline& plot) {
  const bool has_events = std::ranges::any_of(
      plot.lanes, [](const TimelineLane& lane) { return !lane.events.empty(); });
  if (!has_events) {
    return {};
  }
  const Extent extent = extent_of(plot);
  return element("figure", {{"class", "timeline"}, {"id", plot.id}},
                 legend_of(plot.kinds) + element("figcaption", {}, plot.caption)) +
         text("\n") + lanes_table(plot, extent) +
         json_block(plot.id + "-timeline",
                    data_of(plot, extent).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<std::string> longest_kinds(const std::map<std::string, double>& times,
                                       const char* others) {
  std::vector<std::pair<std::string, double>> order(times.begin(), times.end());
  std::ranges::stable_sort(order, std::greater(), [](const auto& row) { return row.second; });
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < std::min(order.size(), kColours - 1); ++i) {
    kinds.push_back(order[i].first);
  }
  if (order.size() > kinds.size()) {
    kinds.emplace_back(others);
  }
  return kinds;
}

std::size_t kind_number(const std::vector<std::string>& kinds, const std::string& kind) {
  const auto place = std::ranges::find(kinds, kind) - kinds.begin();
  return std::min(static_cast<std::size_t>(place), kinds.size() - 1);
}

std::size_t TextNumbers::number_of(const std::string& text) {
  const auto [found, is_new] = numbers_.try_emplace(text, texts_.size());
  if (is_new) {
    texts_.push_back(text);
  }
  return found->second;
}

}  // namespace understudy::pages
