#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "arguments.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::json;

constexpr double kNsPerUs = 1e3;
constexpr std::size_t kMostEvents = 100'000;  ///< more make a page that browsers show late

/// Process and thread of an event.
using Place = std::pair<std::int64_t, std::int64_t>;

std::string class_of(const Json& event) {
  const auto about = event.find("args");
  return about == event.end() ? "wait" : about->value("class", std::string("other"));
}

std::vector<std::string> kinds_of(const Json& events) {
  std::map<std::string, double> sums;
  for (const Json& event : events) {
    if (event.at("ph") == "X") {
      sums[class_of(event)] += event.at("dur").get<double>();
    }
  }
  return pages::longest_kinds(sums, "others");
}

}  // namespace

pages::Timeline timeline_of(const std::string& trace, int slowest_rank) {
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
  std::map<std::int64_t, std::size_t> events_of;
  pages::TextNumbers names;
  for (const Json& event : events) {
    const Place place{event.at("pid").get<std::int64_t>(), event.at("tid").get<std::int64_t>()};
    if (event.at("ph") == "M") {
      const std::string name = event.at("args").at("name").get<std::string>();
      (event.at("name") == "process_name" ? groups[place.first] : lanes[place].name) = name;
      continue;
    }
    ++events_of[place.first];
    lanes[place].events.push_back(
        {static_cast<std::int64_t>(std::llround(event.at("ts").get<double>() * kNsPerUs)),
         static_cast<std::int64_t>(std::llround(event.at("dur").get<double>() * kNsPerUs)),
         names.number_of(event.at("name").get<std::string>()),
         pages::kind_number(plot.kinds, class_of(event))});
  }
  std::size_t drawn = events_of[slowest_rank];
  const std::size_t left_out = std::erase_if(groups, [&](const auto& group) {
    return group.first != slowest_rank && (drawn += events_of[group.first]) > kMostEvents;
  });
  if (left_out > 0) {
    plot.caption += fmt::format(" {} more are in what --trace writes.", left_out);
  }
  for (auto& [place, lane] : lanes) {
    if (groups.contains(place.first)) {
      lane.group = groups[place.first];
      plot.lanes.push_back(std::move(lane));
    }
  }
  plot.names = names.texts();
  return plot;
}

}  // namespace understudy::cli
