#include "generator/link/device_time.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "generator/link/device.h"
#include "et_schema/model/kernel_class.h"
#include "generator/link/host.h"
#include "generator/link/names.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoEvent;
using et_schema::Profile;

bool is_operator_name(std::string_view name) {
  return name.find("::") != std::string_view::npos;
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
  switch (by) {
    case LaunchedBy::kOperator:
      return "operator";
    case LaunchedBy::kLabel:
      return "label without operator";
    case LaunchedBy::kGraph:
      return "graph launch";
    case LaunchedBy::kNothing:
      return "unlinked";
  }
  return {};
}

std::vector<KernelTime> kernel_times(const Profile& profile) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  const DeviceEvents device = link_device_events(profile, host);
  Kernels kernels(profile);
  for (const DeviceEvent& event : device.linked) {
    const std::string_view launcher = profile.events[host.events[event.operator_].source].name;
    const LaunchedBy by = is_graph_launch(profile.events[event.launch]) ? LaunchedBy::kGraph
                          : is_operator_name(launcher)                  ? LaunchedBy::kOperator
                                                                        : LaunchedBy::kLabel;
    kernels.add(event.source, by, launcher);
  }
  for (const UnlinkedEvent& event : device.unlinked) {
    const bool is_graph = is_graph_launch(profile.events[event.launch]);
    kernels.add(event.source, is_graph ? LaunchedBy::kGraph : LaunchedBy::kNothing, {});
  }
  return kernels.sorted();
}

}  // namespace understudy::generator
