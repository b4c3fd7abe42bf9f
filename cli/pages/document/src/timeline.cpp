#include "cli/pages/document/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "et_schema/base/stretches.h"

namespace understudy::pages {
namespace {

constexpr double kNsPerMs = 1e6;
/// Number of colours; further kinds share the last one.
constexpr std::size_t kColours = 10;

/// Returns the time in which at least one event runs.
double busy_ns(const TimelineLane& lane) {
  et_schema::Stretches stretches;
  for (const TimelineEvent& event : lane.events) {
    stretches.push_back({event.start_ns, event.start_ns + event.duration_ns});
  }
  return static_cast<double>(total_ns(et_schema::merged_stretches(std::move(stretches))));
}

/// Returns the time from the first event's start to the last one's end.
double whole_ns(const Timeline& plot) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const TimelineLane& lane : plot.lanes) {
    for (const TimelineEvent& event : lane.events) {
      begin = std::min(begin, event.start_ns);
      end = std::max(end, event.start_ns + event.duration_ns);
    }
  }
  return static_cast<double>(end) - static_cast<double>(begin);
}

}  // namespace

Table lanes_table(const Timeline& plot) {
  Table table{.id = plot.id + "-lanes",
              .caption = "Lanes of the timeline",
              .columns = {texts("lane"), counts("events"), figures("busy ms"),
                          shares("share of the whole")},
              .shown = 20,
              .shown_in_text = 0};
  const double whole = whole_ns(plot);
  for (const TimelineLane& lane : plot.lanes) {
    const double busy = busy_ns(lane);
    table.rows.push_back(
        {lane.group.empty() ? lane.name : fmt::format("{}, {}", lane.group, lane.name),
         static_cast<std::uint64_t>(lane.events.size()), cell_of(std::optional(busy / kNsPerMs)),
         cell_of(std::optional(busy / whole))});
  }
  return table;
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
