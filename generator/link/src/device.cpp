#include "generator/link/device.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace understudy::generator {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

constexpr const char* kNoCorrelation = "it has no correlation";
constexpr const char* kNoLaunch = "its launch is not in the profile";
constexpr const char* kNoOperator = "no operator was open where it was launched";

struct Launch {
  std::int64_t correlation = 0;
  std::uint32_t source = 0;
};

/// All calls with a correlation, whatever their names: the call with a device event's correlation
/// launched it.
std::vector<Launch> find_launches(const Profile& profile) {
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const KinetoEvent& event = profile.events[i];
    if (event.category == KinetoCategory::kRuntime && event.correlation > 0) {
      launches.push_back({event.correlation, static_cast<std::uint32_t>(i)});
    }
  }
  if (!std::ranges::is_sorted(launches, {}, &Launch::correlation)) {
    std::ranges::stable_sort(launches, {}, &Launch::correlation);
  }
  return launches;
}

HostIndex operator_around(const HostEvents& host, const KinetoEvent& launch) {
  const HostThread* thread = host.find_thread(launch.pid, launch.tid);
  if (thread == nullptr) {
    return kNoEvent;
  }
  const std::int64_t time_ns = host.relative(launch.ts_ns);
  HostIndex index = host.last_started(*thread, time_ns);
  while (index != kNoEvent &&
         (!host.events[index].is_operator || host.events[index].end_ns < time_ns)) {
    index = host.events[index].parent;
  }
  return index;
}

class DeviceLinker {
 public:
  DeviceLinker(const Profile& profile, const HostEvents& host)
      : profile_(profile),
        host_(host),
        launches_(find_launches(profile)),
        is_answered_(launches_.size()) {}

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
    if (event.correlation <= 0) {
      lose(event, kNoCorrelation);
      result.unlinked.push_back({source, source});
      return;
    }
    const auto launch =
        std::ranges::lower_bound(launches_, event.correlation, {}, &Launch::correlation);
    if (launch == launches_.end() || launch->correlation != event.correlation) {
      lose(event, kNoLaunch);
      result.unlinked.push_back({source, source});
      return;
    }
    is_answered_[static_cast<std::size_t>(launch - launches_.begin())] = true;
    const HostIndex index = operator_around(host_, profile_.events[launch->source]);
    if (index == kNoEvent) {
      lose(event, kNoOperator);
      result.unlinked.push_back({source, launch->source});
      return;
    }
    result.linked.push_back({source, index, launch->source});
  }

  /// Looks only at kernels: a copy or a fill of no bytes has no event anywhere.
  void find_unanswered(DeviceEvents& result) const {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const KinetoEvent& call = profile_.events[launches_[i].source];
      if (!is_answered_[i] && call.name.find("LaunchKernel") != std::string::npos) {
        if (const HostIndex index = operator_around(host_, call); index != kNoEvent) {
          result.unanswered.push_back(index);
        }
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
  std::vector<Launch> launches_;
  std::vector<bool> is_answered_;  ///< by launch: whether it has a device event
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
