#include "generator/link/device.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "et_schema/kineto/nested_events.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

constexpr const char* kNoCorrelation = "it has no correlation";
constexpr const char* kNoLaunch = "its launch is not in the profile";
constexpr const char* kNoOperator = "no operator was open where it was launched";
/// CUPTI's records are gone then, and Kineto writes zeros.
constexpr const char* kNoTime =
    "its time is lost: the profile was written after the next one began";

/// The innermost operator that was open at the launch; the operator itself where that stands for
/// it.
HostIndex operator_around(const Profile& profile, const HostEvents& host,
                          const KinetoEvent& launch) {
  const HostThread* thread = host.find_thread(launch.pid, launch.tid);
  if (thread == nullptr) {
    return kNoEvent;
  }
  const std::int64_t time_ns = host.relative(launch.ts_ns);
  const auto is_it = [&](const HostEvent& event) {
    return launch.category == KinetoCategory::kCpuOp ? &profile.events[event.source] == &launch
                                                     : event.is_operator && event.end_ns >= time_ns;
  };
  HostIndex index = host.last_started(*thread, time_ns);
  while (index != kNoEvent && !is_it(host.events[index])) {
    index = host.events[index].parent;
  }
  return index;
}

class DeviceLinker {
 public:
  DeviceLinker(const Profile& profile, const HostEvents& host)
      : profile_(profile), host_(host), launches_(profile), is_answered_(profile.events.size()) {}

  DeviceEvents link() {
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      const KinetoEvent& work = profile_.events[i];
      if (!is_device_work(work)) {
        continue;
      }
      ++found_.total;
      DeviceEvent event{i, kNoEvent, i};
      if (const char* reason = find_launch(event)) {
        et_schema::LostDeviceEvents& lost = lost_[{work.name, reason}];
        ++lost.count;
        lost.device_ns = add_times(lost.device_ns, std::max<std::int64_t>(work.dur_ns, 0));
        found_.unlinked.push_back(event);
      } else {
        found_.linked.push_back(event);
      }
    }
    find_unanswered();
    for (auto& [key, lost] : lost_) {
      lost.name = key.first;
      lost.reason = key.second;
      found_.lost.push_back(std::move(lost));
    }
    return std::move(found_);
  }

 private:
  /// Finds what launched the event, or why that is not known.
  const char* find_launch(DeviceEvent& event) {
    const KinetoEvent& work = profile_.events[event.source];
    if (work.ts_ns == profile_.base_time_ns && work.dur_ns == 0) {
      return kNoTime;
    }
    const KinetoEvent* launch = launches_.of(work);
    if (launch == nullptr) {
      return work.correlation <= 0 ? kNoCorrelation : kNoLaunch;
    }
    event.launch = static_cast<std::uint32_t>(launch - profile_.events.data());
    is_answered_[event.launch] = true;
    event.operator_ = operator_around(profile_, host_, *launch);
    if (event.operator_ == kNoEvent) {
      return kNoOperator;
    }
    found_.by_external_id += launch->category == KinetoCategory::kCpuOp ? 1U : 0U;
    return nullptr;
  }

  /// Looks only at kernels: a copy or a fill of no bytes has no event anywhere.
  void find_unanswered() {
    for (std::size_t i = 0; i < profile_.events.size(); ++i) {
      const KinetoEvent& call = profile_.events[i];
      if (is_answered_[i] || call.category != KinetoCategory::kRuntime || call.correlation <= 0 ||
          call.name.find("LaunchKernel") == std::string_view::npos) {
        continue;
      }
      const HostIndex index = operator_around(profile_, host_, call);
      if (index != kNoEvent && !is_answered_[host_.events[index].source]) {
        found_.unanswered.push_back(index);
      }
    }
  }

  const Profile& profile_;
  const HostEvents& host_;
  et_schema::Launches launches_;
  std::vector<bool> is_answered_;  ///< by event: whether it is the launch of a device event
  DeviceEvents found_;
  /// By name and reason; there are few of them.
  std::map<std::pair<std::string_view, std::string_view>, et_schema::LostDeviceEvents> lost_;
};

}  // namespace

bool is_graph_launch(const KinetoEvent& call) {
  return call.category == KinetoCategory::kRuntime &&
         call.name.find("GraphLaunch") != std::string_view::npos;
}

DeviceEvents link_device_events(const Profile& profile, const HostEvents& host) {
  return DeviceLinker(profile, host).link();
}

}  // namespace understudy::generator
