#include "generator/link/device_time.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "et_schema/model/dtype.h"
#include "et_schema/model/op_class.h"
#include "et_schema/support/enum_names.h"
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

std::string_view name_of(const Profile& profile, const HostEvents& host, const DeviceEvent& event) {
  return profile.events[host.events[event.operator_].source].name;
}

LaunchedBy launched_by(const Profile& profile, const HostEvents& host, const DeviceEvent& event) {
  return is_graph_launch(profile.events[event.launch])     ? LaunchedBy::kGraph
         : is_operator_name(name_of(profile, host, event)) ? LaunchedBy::kOperator
                                                           : LaunchedBy::kLabel;
}

LaunchedBy launched_by(const Profile& profile, const UnlinkedEvent& event) {
  return is_graph_launch(profile.events[event.launch]) ? LaunchedBy::kGraph : LaunchedBy::kNothing;
}

/// Classes in which operators call others of their class that are a library's.
bool has_layers(std::string_view op_class) {
  constexpr auto kLayers = std::to_array<std::string_view>(
      {"matmul", "convolution", "attention", "normalization", "softmax", "pooling", "embedding"});
  return std::ranges::find(kLayers, op_class) != kLayers.end();
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
HostIndex outermost_alike(const Profile& profile, const HostEvents& host, HostIndex index) {
  const KinetoEvent& inner = profile.events[host.events[index].source];
  const std::string_view inner_class = et_schema::op_class(inner.name);
  if (!is_operator_name(inner.name) || !has_layers(inner_class)) {
    return index;
  }
  for (HostIndex at = host.events[index].parent; at != kNoEvent; at = host.events[at].parent) {
    const KinetoEvent& outer = profile.events[host.events[at].source];
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

class Kernels {
 public:
  explicit Kernels(const Profile& profile) : profile_(profile) {}

  void add(std::uint32_t source, LaunchedBy by, std::string_view launcher) {
    const KinetoEvent& event = profile_.events[source];
    KernelTime& row = rows_[{event.name, by, launcher}];
    ++row.count;
    row.device_ns = add_times(row.device_ns, std::max<std::int64_t>(event.dur_ns, 0));
  }

  [[nodiscard]] std::vector<KernelTime> sorted() const {
    std::vector<KernelTime> rows;
    for (const auto& [key, sums] : rows_) {
      const auto& [kernel, by, launcher] = key;
      rows.push_back(
          {kernel, et_schema::kernel_class(kernel), by, launcher, sums.count, sums.device_ns});
    }
    std::ranges::stable_sort(rows, std::ranges::greater{}, &KernelTime::device_ns);
    return rows;
  }

 private:
  const Profile& profile_;
  std::map<std::tuple<std::string_view, LaunchedBy, std::string_view>, KernelTime> rows_;
};

}  // namespace

std::string_view to_string(LaunchedBy by) {
  return et_schema::EnumNames<LaunchedBy::kNothing>("operator", "label without operator",
                                                    "graph launch", "unlinked")[by];
}

std::vector<KernelTime> kernel_times(const Profile& profile) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  const DeviceEvents device = link_device_events(profile, host);
  Kernels kernels(profile);
  for (const DeviceEvent& event : device.linked) {
    kernels.add(event.source, launched_by(profile, host, event), name_of(profile, host, event));
  }
  for (const UnlinkedEvent& event : device.unlinked) {
    kernels.add(event.source, launched_by(profile, event), {});
  }
  return kernels.sorted();
}

std::vector<DeviceCall> device_calls(const Profile& profile) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  const DeviceEvents device = link_device_events(profile, host);
  std::vector<DeviceCall> calls;
  std::map<std::pair<HostIndex, LaunchedBy>, std::size_t> places;
  for (const DeviceEvent& event : device.linked) {
    const LaunchedBy by = launched_by(profile, host, event);
    const HostIndex call = outermost_alike(profile, host, event.operator_);
    const auto [place, is_new] = places.try_emplace({call, by}, calls.size());
    if (is_new) {
      calls.push_back({&profile.events[host.events[call].source], by, {}});
    }
    calls[place->second].events.push_back(event.source);
  }
  for (const UnlinkedEvent& event : device.unlinked) {
    calls.push_back({nullptr, launched_by(profile, event), {event.source}});
  }
  return calls;
}

}  // namespace understudy::generator
