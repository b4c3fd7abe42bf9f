#include "cli/compile/launches.h"

#include <algorithm>
#include <string_view>

#include "et_schema/formats/kineto/device_timeline.h"

namespace understudy::cli {

std::vector<Launch> launches_of(const et_schema::Profile& profile) {
  et_schema::DeviceTimeline timeline = et_schema::device_timeline(profile);
  std::ranges::stable_sort(timeline.events, {}, &et_schema::DeviceEvent::launch_ns);
  std::vector<Launch> launches;
  for (const et_schema::DeviceEvent& launched : timeline.events) {
    if (launched.step == et_schema::kUnknownEvent) {
      continue;
    }
    const et_schema::KinetoEvent& event = profile.events[launched.source];
    Launch& launch = launches.emplace_back();
    launch.name = event.name;
    if (launched.launcher != et_schema::kUnknownEvent) {
      launch.launcher = profile.events[launched.launcher].name;
    }
    const std::size_t middle = event.shape.find("][");  // of "[512,1,1][32,4,1]"
    if (event.registers > 0 && middle != std::string_view::npos) {
      launch.grid = event.shape.substr(1, middle - 1);
      launch.block = event.shape.substr(middle + 2, event.shape.size() - middle - 3);
      launch.registers = event.registers;
      launch.shared_bytes = event.shared_bytes;
    }
    launch.is_call = event.category == et_schema::KinetoCategory::kKernel && launch.registers == 0;
  }
  return launches;
}

nlohmann::ordered_json json_of(const Launch& launch) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (launch.registers > 0) {
    json = {{"grid", launch.grid},
            {"block", launch.block},
            {"registers", launch.registers},
            {"shared_bytes", launch.shared_bytes}};
  }
  json["name"] = launch.name;
  return json;
}

}  // namespace understudy::cli
