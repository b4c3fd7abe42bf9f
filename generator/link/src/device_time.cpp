#include "generator/link/device_time.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "et_schema/model/dtype.h"
#include "et_schema/model/op_class.h"
#include "et_schema/support/enum_names.h"
#include "et_schema/support/words.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/link/names.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoEvent;
using et_schema::Profile;

bool is_operator_name(std::string_view name) {
  return name.find("::") != std::string_view::npos;
}

/// The name of the operator or label that launched it; empty where none is known.
std::string_view launcher_of(const HostEvents& host, const DeviceEvent& event) {
  return event.operator_ == kNoEvent ? std::string_view() : host.source(event.operator_).name;
}

LaunchedBy launched_by(const HostEvents& host, const DeviceEvent& event) {
  return is_graph_launch(host.sources[event.launch])  ? LaunchedBy::kGraph
         : event.operator_ == kNoEvent                ? LaunchedBy::kNothing
         : is_operator_name(launcher_of(host, event)) ? LaunchedBy::kOperator
                                                      : LaunchedBy::kLabel;
}

/// Classes in which operators call others of their class that are a library's.
bool has_layers(std::string_view op_class) {
  return et_schema::has_word("matmul convolution attention normalization softmax pooling embedding",
                             op_class);
}

/// The type of the first floating tensor among the arguments; empty: none is told.
std::string_view floating_type(const KinetoEvent& event) {
  for (const et_schema::KinetoArgument& argument : event.arguments) {
    const auto dtype = et_schema::dtype_from_cpp_name(argument.type);
    if (dtype && et_schema::is_floating(*dtype)) {
      return argument.type;
    }
  }
  return {};
}

/// See DeviceCall.
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
                          outer.name != "aten::einsum" &&  // whose sizes do not tell its products
                          et_schema::op_class(outer.name) == inner_class &&
                          floating_type(outer) == floating_type(inner);
    if (!is_alike) {
      break;
    }
    index = at;
  }
  return index;
}

}  // namespace

std::string_view to_string(LaunchedBy by) {
  return et_schema::EnumNames<LaunchedBy::kNothing>("operator", "label without operator",
                                                    "graph launch", "unlinked")[by];
}

std::vector<KernelTime> kernel_times(const Profile& profile) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  const DeviceEvents device = link_device_events(profile, host);
  std::map<std::tuple<std::string_view, LaunchedBy, std::string_view>, KernelTime> rows;
  const auto add = [&](const DeviceEvent& event) {
    const KinetoEvent& work = profile.events[event.source];
    const LaunchedBy by = launched_by(host, event);
    const std::string_view launcher = launcher_of(host, event);
    KernelTime& row =
        rows.try_emplace({work.name, by, launcher}, KernelTime{work.name, {}, by, launcher})
            .first->second;
    ++row.count;
    row.device_ns = add_times(row.device_ns, std::max<std::int64_t>(work.dur_ns, 0));
  };
  std::ranges::for_each(device.linked, add);
  std::ranges::for_each(device.unlinked, add);
  std::vector<KernelTime> times;
  for (auto& [key, row] : rows) {
    row.kernel_class = et_schema::kernel_class(row.kernel);
    times.push_back(row);
  }
  std::ranges::stable_sort(times, std::ranges::greater{}, &KernelTime::device_ns);
  return times;
}

std::vector<DeviceCall> device_calls(const Profile& profile) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  const DeviceEvents device = link_device_events(profile, host);
  std::vector<DeviceCall> calls;
  std::map<std::pair<HostIndex, LaunchedBy>, std::size_t> places;
  for (const DeviceEvent& event : device.linked) {
    const LaunchedBy by = launched_by(host, event);
    const HostIndex call = outermost_alike(host, event.operator_);
    const auto [place, is_new] = places.try_emplace({call, by}, calls.size());
    if (is_new) {
      calls.push_back({&host.source(call), by, {}});
    }
    calls[place->second].events.push_back(event.source);
  }
  for (const DeviceEvent& event : device.unlinked) {
    calls.push_back({nullptr, launched_by(host, event), {event.source}});
  }
  return calls;
}

}  // namespace understudy::generator
