#include "generator/link/device.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace understudy::generator {

std::vector<et_schema::LostDeviceEvents> unlinked_events(const et_schema::DeviceTimeline& device,
                                                         const HostEvents& host) {
  std::map<std::pair<std::string_view, std::string_view>, et_schema::LostDeviceEvents> rows;
  const auto add = [&](std::uint32_t source, std::string_view reason, std::int64_t ns) {
    et_schema::LostDeviceEvents& row = rows[{host.sources[source].name, reason}];
    ++row.count;
    row.device_ns = add_times(row.device_ns, ns);
  };
  for (const et_schema::DeviceEvent& event : device.events) {
    const bool has_correlation = host.sources[event.source].correlation > 0;
    if (host.event_of(event.launcher) == kNoEvent) {
      add(event.source,
          event.call != et_schema::kUnknownEvent ? "no operator was open where it was launched"
          : has_correlation                      ? "its launch is not in the profile"
                                                 : "it has no correlation",
          event.ns());
    }
  }
  for (const et_schema::LostLaunch& lost : device.lost) {
    if (lost.why == et_schema::LostBy::kNoTime) {
      add(lost.source, "its time is lost: the profile was written after the next one began", 0);
    }
  }
  std::vector<et_schema::LostDeviceEvents> list;
  for (auto& [key, row] : rows) {
    row.name = key.first;
    row.reason = key.second;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace understudy::generator
