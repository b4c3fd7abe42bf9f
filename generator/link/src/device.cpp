#include "generator/link/device.h"

#include <algorithm>
#include <map>
#include <string>
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
    DeviceEvents result;
    for (std::size_t i = 0; i < profile_.events.size(); ++i) {
      if (is_device_work(profile_.events[i])) {
        ++result.total;
        link_event(static_cast<std::uint32_t>(i), result);
      }
    }
    find_unanswered(result);
    for (const auto& [key, sum] : lost_) {
      result.lost.push_back({std::string(key.first), key.second, sum.count, sum.device_ns});
    }
    return result;
  }

 private:
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t device_ns = 0;
  };

  void link_event(std::uint32_t source, DeviceEvents& result) {
    const KinetoEvent& event = profile_.events[source];
    if (event.ts_ns == profile_.base_time_ns && event.dur_ns == 0) {
      lose(event, kNoTime);
      result.unlinked.push_back({source, source});
      return;
    }
    const KinetoEvent* launch = launches_.of(event);
    if (launch == nullptr) {
      lose(event, event.correlation <= 0 ? kNoCorrelation : kNoLaunch);
      result.unlinked.push_back({source, source});
      return;
    }
    const auto place = static_cast<std::uint32_t>(launch - profile_.events.data());
    is_answered_[place] = true;
    const HostIndex index = operator_around(profile_, host_, *launch);
    if (index == kNoEvent) {
      lose(event, kNoOperator);
      result.unlinked.push_back({source, place});
      return;
    }
    result.linked.push_back({source, index, place});
    result.by_external_id += launch->category == KinetoCategory::kCpuOp ? 1U : 0U;
  }

  /// Looks only at kernels: a copy or a fill of no bytes has no event anywhere.
  void find_unanswered(DeviceEvents& result) const {
    for (std::size_t i = 0; i < profile_.events.size(); ++i) {
      const KinetoEvent& call = profile_.events[i];
      if (is_answered_[i] || call.category != KinetoCategory::kRuntime || call.correlation <= 0 ||
          call.name.find("LaunchKernel") == std::string_view::npos) {
        continue;
      }
      const HostIndex index = operator_around(profile_, host_, call);
      if (index != kNoEvent && !is_answered_[host_.events[index].source]) {
        result.unanswered.push_back(index);
      }
    }
  }

  void lose(const KinetoEvent& event, const char* reason) {
    Sum& sum = lost_[{event.name, reason}];
    ++sum.count;
    sum.device_ns = add_times(sum.device_ns, std::max<std::int64_t>(event.dur_ns, 0));
  }

  const Profile& profile_;
  const HostEvents& host_;
  et_schema::Launches launches_;
  std::vector<bool> is_answered_;  ///< by event: whether it is the launch of a device event
  std::map<std::pair<std::string_view, std::string>, Sum> lost_;  // by name; there are few of them
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
