#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "predict/arguments.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::json;

constexpr double kNsPerUs = 1e3;

/// Where an event stands: its process and thread.
using Place = std::pair<std::int64_t, std::int64_t>;

std::string class_of(const Json& event) {
  const auto about = event.find("args");
  return about == event.end() ? "wait" : about->value("class", std::string("other"));
}

/// The classes that take most time have a colour of their own.
std::vector<std::string> kinds_of(const Json& events) {
  std::map<std::string, double> sums;
  for (const Json& event : events) {
    if (event.at("ph") == "X") {
      sums[class_of(event)] += event.at("dur").get<double>();
    }
  }
  std::vector<std::pair<std::string, double>> order(sums.begin(), sums.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kMost = 9;
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    kinds.push_back(order[i].first);
  }
  if (order.size() > kMost) {
    kinds.emplace_back("others");
  }
  return kinds;
}

}  // namespace

pages::Timeline timeline_of(const std::string& trace) {
  pages::Timeline plot;
  plot.id = "prediction-timeline";
  plot.caption = "The last two predicted iterations; ranks that were played as one stand once.";
  if (trace.empty()) {
    return plot;
  }
  const Json document = Json::parse(trace);
  const Json& events = document.at("traceEvents");
  plot.kinds = kinds_of(events);
  std::map<std::int64_t, std::string> groups;
  std::map<Place, pages::TimelineLane> lanes;
  pages::TextNumbers names;
  for (const Json& event : events) {
    const Place place{event.at("pid").get<std::int64_t>(), event.at("tid").get<std::int64_t>()};
    if (event.at("ph") == "M") {
      const std::string name = event.at("args").at("name").get<std::string>();
      (event.at("name") == "process_name" ? groups[place.first] : lanes[place].name) = name;
      continue;
    }
    const auto kind = std::ranges::find(plot.kinds, class_of(event)) - plot.kinds.begin();
    lanes[place].events.push_back(
        {static_cast<std::int64_t>(std::llround(event.at("ts").get<double>() * kNsPerUs)),
         static_cast<std::int64_t>(std::llround(event.at("dur").get<double>() * kNsPerUs)),
         names.number_of(event.at("name").get<std::string>()),
         std::min(static_cast<std::size_t>(kind), plot.kinds.size() - 1)});
  }
  for (auto& [place, lane] : lanes) {
    lane.group = groups[place.first];
    plot.lanes.push_back(std::move(lane));
  }
  plot.names = names.texts();
  return plot;
}

}  // namespace understudy::cli
