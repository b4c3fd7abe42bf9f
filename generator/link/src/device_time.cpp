#include "generator/link/device_time.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "et_schema/base/map_values.h"
#include "et_schema/base/words.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/op_class.h"
#include "generator/link/host.h"
#include "generator/link/names.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceTimeline;
using et_schema::KinetoEvent;
using et_schema::Profile;

bool is_operator_name(std::string_view name) {
  return name.find("::") != std::string_view::npos;
}

/// Returns true for classes whose operators call others of the same class, such as a library's:
/// conv2d calls cudnn_convolution.
bool has_layers(std::string_view op_class) {
  return et_schema::has_word("matmul convolution attention normalization softmax pooling embedding",
                             op_class);
}

/// Returns the type of the first floating tensor among the arguments; empty if not recorded.
std::string_view floating_type(const KinetoEvent& event) {
  for (const et_schema::KinetoArgument& argument : event.arguments) {
    const auto dtype = et_schema::dtype_from_cpp_name(argument.type);
    if (dtype && et_schema::is_floating(*dtype)) {
      return argument.type;
    }
  }
  return {};
}

/// Returns the call that DeviceCall describes.
HostIndex outermost_alike(const HostEvents& host, HostIndex index) {
  const KinetoEvent& inner = host.source(index);
  const std::string_view inner_class = et_schema::op_class(inner.name);
  if (!is_operator_name(inner.name) || !has_layers(inner_class)) {
    return index;
  }
  for (HostIndex at = host.events[index].parent; at != kNoEvent; at = host.events[at].parent) {
    const KinetoEvent& outer = host.source(at);
    const bool is_alike = host.events[at].is_operator && is_operator_name(outer.name) &&
                          !outer.name.starts_with("autograd::") &&
                          outer.name != "aten::einsum" &&  // its sizes do not show its products
                          et_schema::op_class(outer.name) == inner_class &&
                          floating_type(outer) == floating_type(inner);
    if (!is_alike) {
      break;
    }
    index = at;
  }
  return index;
}

std::string_view launcher_name(const Profile& profile, const et_schema::DeviceLaunch& launch) {
  return launch.launcher == et_schema::kUnknownEvent ? "" : profile.events[launch.launcher].name;
}

}  // namespace

std::vector<KernelTime> kernel_times(const Profile& profile, const DeviceTimeline& device) {
  std::map<std::tuple<std::string_view, std::string_view, et_schema::LaunchedBy, std::string_view>,
           KernelTime>
      rows;
  for (const et_schema::DeviceEvent& event : device.events) {
    if (event.step == et_schema::kUnknownEvent) {
      continue;
    }
    const std::string_view kernel = profile.events[event.source].name;
    const std::string_view launcher = launcher_name(profile, event);
    KernelTime& row = rows.try_emplace({kernel, event.kernel_class, event.by, launcher},
                                       KernelTime{kernel, event.kernel_class, event.by, launcher})
                          .first->second;
    ++row.count;
    row.device_ns = add_times(row.device_ns, event.ns());
  }
  return et_schema::largest_first(std::move(rows), &KernelTime::device_ns);
}

std::vector<et_schema::LostLaunch> ranged_launches(const Profile& profile,
                                                   const DeviceTimeline& device) {
  std::vector<et_schema::LostLaunch> launches;
  std::ranges::copy_if(device.lost, std::back_inserter(launches), [&](const auto& lost) {
    const std::string_view call = profile.events[lost.call].name;
    return lost.why == et_schema::LostBy::kRanged &&
           call.find("Launch") != std::string_view::npos &&
           call.find("Kernel") != std::string_view::npos;
  });
  std::ranges::stable_sort(launches, {}, &et_schema::LostLaunch::launch_ns);
  return launches.size() == profile.ranges.size() ? launches : std::vector<et_schema::LostLaunch>();
}

std::vector<KernelCounters> kernel_counters(const Profile& profile, const DeviceTimeline& device) {
  const std::vector<et_schema::LostLaunch> launches = ranged_launches(profile, device);
  std::map<std::pair<std::string_view, std::string_view>, KernelCounters> rows;
  for (std::size_t i = 0; i < profile.ranges.size(); ++i) {
    const et_schema::CountedKernel& range = profile.ranges[i];
    const std::string_view launcher = launches.empty() ? "" : launcher_name(profile, launches[i]);
    KernelCounters& row =
        rows.try_emplace({launcher, range.kernel}, KernelCounters{range.kernel, launcher})
            .first->second;
    ++row.count;
    for (const auto& [counter, value] : range.metrics) {
      row.sums[counter] += value;
    }
  }
  return et_schema::values_of(std::move(rows));
}

std::vector<DeviceCall> device_calls(const Profile& profile, const DeviceTimeline& device) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  std::vector<DeviceCall> calls;
  std::map<std::pair<HostIndex, et_schema::LaunchedBy>, std::size_t> places;
  for (std::uint32_t i = 0; i < device.events.size(); ++i) {
    const et_schema::DeviceEvent& event = device.events[i];
    const HostIndex launcher = host.event_of(event.launcher);
    if (launcher == kNoEvent) {
      calls.push_back({nullptr, event.by, {i}, false});
      continue;
    }
    const HostIndex call = outermost_alike(host, launcher);
    const auto [place, is_new] = places.try_emplace({call, event.by}, calls.size());
    if (is_new) {
      calls.push_back({&host.source(call), event.by, {}, false});
    }
    calls[place->second].events.push_back(i);
  }
  for (const et_schema::LostLaunch& lost : device.lost) {
    const HostIndex launcher = host.event_of(lost.launcher);
    if (launcher != kNoEvent && et_schema::is_lost_work(lost.why)) {
      if (const auto place = places.find({outermost_alike(host, launcher), lost.by});
          place != places.end()) {
        calls[place->second].is_cut_off = true;
      }
    }
  }
  return calls;
}

}  // namespace understudy::generator
