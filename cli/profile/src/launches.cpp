#include "cli/profile/launches.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "et_schema/base/stretches.h"
#include "et_schema/formats/kineto/device_timeline.h"
#include "generator/flow/autograd.h"

namespace understudy::cli {
namespace {

/// When labels whose names begin so were open.
class Labelled {
 public:
  Labelled(const et_schema::Profile& profile, std::string_view start) {
    for (const et_schema::KinetoEvent& event : profile.events) {
      if (event.name.starts_with(start)) {
        open_.push_back({event.ts_ns, event.ts_ns + event.dur_ns});
      }
    }
    open_ = merged_stretches(std::move(open_));
  }
  [[nodiscard]] bool is_at(std::int64_t time_ns) const {
    return covered_ns(open_, {time_ns, time_ns + 1}) > 0;
  }

 private:
  et_schema::Stretches open_;
};

}  // namespace

std::vector<Launch> launches_of(const et_schema::Profile& profile) {
  et_schema::DeviceTimeline timeline = et_schema::device_timeline(profile);
  std::ranges::stable_sort(timeline.events, {}, &et_schema::DeviceEvent::launch_ns);
  const Labelled backward(profile, generator::kEvaluationLabel);
  const Labelled optimizer(profile, "Optimizer.step");
  std::vector<Launch> launches;
  for (const et_schema::DeviceEvent& launched : timeline.events) {
    if (launched.step == et_schema::kUnknownEvent) {
      continue;
    }
    const et_schema::KinetoEvent& event = profile.events[launched.source];
    Launch& launch = launches.emplace_back();
    launch.name = event.name;
    launch.phase = backward.is_at(launched.launch_ns)    ? "backward"
                   : optimizer.is_at(launched.launch_ns) ? "optimizer"
                                                         : "forward";
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
  nlohmann::ordered_json json = {{"launcher", launch.launcher}};
  if (!launch.phase.empty()) {
    json["phase"] = launch.phase;
  }
  if (launch.registers > 0) {
    json.update({{"grid", launch.grid},
                 {"block", launch.block},
                 {"registers", launch.registers},
                 {"shared_bytes", launch.shared_bytes}});
  }
  json["name"] = launch.name;
  return json;
}

}  // namespace understudy::cli
