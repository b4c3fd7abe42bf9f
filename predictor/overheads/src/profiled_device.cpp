#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "et_schema/base/file_name.h"
#include "et_schema/formats/kineto/device_timeline.h"
#include "predictor/overheads/observe_overlap.h"

namespace understudy::predictor {
namespace {

using et_schema::DeviceEvent;
using et_schema::DeviceTimeline;
using et_schema::KinetoComm;
using et_schema::KinetoEvent;
using et_schema::Profile;

/// Part of the name of communication kernels, for those that do not name their collective.
constexpr std::string_view kCommKernel = "nccl";

/// Determines which kernels are the same call.
class CallNames {
 public:
  CallNames(const Profile& profile, const DeviceTimeline& timeline)
      : profile_(profile), timeline_(timeline) {}

  /// Returns a text for everything known of a kernel except its position in the step.
  [[nodiscard]] std::string kind_of(const DeviceEvent& kernel) const {
    const KinetoEvent& event = profile_.events[kernel.source];
    const KinetoEvent* op = launcher_of(kernel);
    return fmt::format("{}\n{}\n{}\n{}\n{}", event.name, event.shape, event.bytes,
                       op != nullptr ? op->name : "", op != nullptr ? op->shape : "");
  }

  /// Returns the call number of each kernel, or kUnknownCall. All kernels must be of one kind.
  [[nodiscard]] std::vector<std::size_t> calls_of(
      const std::vector<const DeviceEvent*>& kernels) const {
    return has_sizes(*kernels.front()) ? std::vector<std::size_t>(kernels.size(), 0)
                                       : places_of(kernels);
  }

  /// Returns a text for the call of a communication that does not name its collective.
  [[nodiscard]] std::string comm_call_of(const DeviceEvent& kernel) const {
    return has_sizes(kernel) ? kind_of(kernel) : "";
  }

 private:
  /// Returns the innermost operator that launched the kernel; may be null.
  [[nodiscard]] const KinetoEvent* launcher_of(const DeviceEvent& kernel) const {
    return kernel.launcher == et_schema::kUnknownEvent ? nullptr
                                                       : &profile_.events[kernel.launcher];
  }
  [[nodiscard]] bool has_sizes(const DeviceEvent& kernel) const {
    return launcher_of(kernel) != nullptr && !launcher_of(kernel)->shape.empty();
  }

  /// Returns each kernel's position among those that its step launched. It is unknown for kernels
  /// outside of steps, and for all kernels unless two steps or more launched equally many.
  [[nodiscard]] std::vector<std::size_t> places_of(
      const std::vector<const DeviceEvent*>& kernels) const {
    std::vector<std::size_t> places(kernels.size(), kUnknownCall);
    std::vector<std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>>> by_step(
        timeline_.steps.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const DeviceEvent& kernel = *kernels[i];
      if (kernel.call != et_schema::kUnknownEvent && kernel.step != et_schema::kUnknownEvent &&
          kernel.launch_ns < timeline_.steps[kernel.step].mark.end_ns) {
        by_step[kernel.step].emplace_back(kernel.launch_ns, kernel.start_ns, i);
      }
    }
    const bool are_alike = std::ranges::all_of(
        by_step, [&](const auto& step) { return step.size() == by_step.front().size(); });
    if (by_step.size() < 2 || !are_alike) {
      return places;
    }
    for (auto& step : by_step) {
      std::ranges::sort(step);
      for (std::size_t place = 0; place < step.size(); ++place) {
        places[std::get<2>(step[place])] = place;
      }
    }
    return places;
  }

  const Profile& profile_;
  const DeviceTimeline& timeline_;
};

/// Returns the time when two or more streams work, as disjoint, ordered stretches.
Stretches several_streams(const std::map<std::uint32_t, Stretches>& work) {
  std::vector<std::pair<std::int64_t, int>> edges;  // ends sort before starts at the same time
  for (const auto& [stream, stretches] : work) {
    for (const Stretch& one : merged_stretches(stretches)) {
      edges.emplace_back(one.start_ns, 1);
      edges.emplace_back(one.end_ns, -1);
    }
  }
  std::ranges::sort(edges);
  int streams = 0;
  Stretches several;
  for (const auto& [ns, change] : edges) {
    streams += change;
    if (change > 0 && streams == 2) {
      several.push_back({ns, ns});
    } else if (change < 0 && streams == 1) {
      several.back().end_ns = ns;
    }
  }
  return merged_stretches(std::move(several));
}

/// A device's events.
struct DeviceEvents {
  std::vector<const DeviceEvent*> kernels;
  std::vector<std::pair<const DeviceEvent*, const KinetoComm*>> comms;
};

std::map<std::int64_t, DeviceEvents> events_by_device(const Profile& profile,
                                                      const DeviceTimeline& timeline) {
  std::unordered_map<std::size_t, const KinetoComm*> named;
  for (const KinetoComm& comm : profile.comms) {
    named.emplace(comm.event, &comm);
  }
  std::map<std::int64_t, DeviceEvents> devices;
  for (const DeviceEvent& event : timeline.events) {
    if (event.ns() == 0) {
      continue;
    }
    const KinetoEvent& source = profile.events[event.source];
    const auto found = named.find(event.source);
    DeviceEvents& device = devices[source.pid];
    if (found != named.end() || source.name.starts_with(kCommKernel)) {
      device.comms.emplace_back(&event, found == named.end() ? nullptr : found->second);
    } else {
      device.kernels.push_back(&event);
    }
  }
  return devices;
}

/// Returns the clock's resolution: older profiles have whole microseconds.
std::int64_t clock_of(const DeviceEvents& events) {
  constexpr std::int64_t kMicrosecond = 1000;
  const auto is_whole = [](const DeviceEvent* event) {
    return event->start_ns % kMicrosecond == 0 && event->ns() % kMicrosecond == 0;
  };
  return std::ranges::all_of(events.kernels, is_whole) ? kMicrosecond : 1;
}

ProfiledComm comm_of(const DeviceEvent& event, const KinetoComm* named, const CallNames& names,
                     const Stretches& kernels) {
  ProfiledComm comm;
  comm.stretch = event.stretch();
  if (named == nullptr) {
    comm.call = names.comm_call_of(event);
    return comm;
  }
  comm.group = fmt::format("{} {} {}", named->group, named->ranks, named->ranks_in_group);
  comm.kind = fmt::format("{} {}", named->name, named->dtype);
  comm.call =
      fmt::format("{} {} {}\n{}", comm.kind, named->in_elements, named->out_elements, comm.group);
  comm.ranks_in_group = static_cast<std::size_t>(std::max<std::int64_t>(named->ranks_in_group, 0));
  auto at = std::ranges::upper_bound(kernels, comm.stretch.start_ns, {}, &Stretch::end_ns);
  for (; at != kernels.end() && at->start_ns < comm.stretch.end_ns; ++at) {
    comm.beside.push_back(
        {std::max(at->start_ns, comm.stretch.start_ns), std::min(at->end_ns, comm.stretch.end_ns)});
  }
  return comm;
}

/// Adds the kernels, grouped by call. Skips kinds of which no kernel ran beside other work.
void add_kernels(const DeviceEvents& events, const CallNames& names, const Stretches& comms,
                 const Stretches& several, ProfiledDevice& device) {
  const auto beside_ns = [&](const DeviceEvent* kernel) {
    return std::pair(covered_ns(comms, kernel->stretch()), covered_ns(several, kernel->stretch()));
  };
  const auto is_alone = [&](const DeviceEvent* kernel) {
    return beside_ns(kernel) == std::pair<std::int64_t, std::int64_t>();
  };
  std::map<std::string, std::vector<const DeviceEvent*>> kinds;
  for (const DeviceEvent* kernel : events.kernels) {
    kinds[names.kind_of(*kernel)].push_back(kernel);
  }
  for (const auto& [kind, kernels] : kinds) {
    if (std::ranges::all_of(kernels, is_alone)) {
      continue;
    }
    const std::vector<std::size_t> calls = names.calls_of(kernels);
    std::map<std::size_t, std::size_t> numbers;  // numbers of calls that ran beside something
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (is_alone(kernels[i])) {
        continue;
      }
      BesideKernel beside{kUnknownCall, kernels[i]->stretch(), beside_ns(kernels[i]).second};
      if (calls[i] != kUnknownCall) {
        const auto [number, is_new] = numbers.try_emplace(calls[i], device.calls.size());
        if (is_new) {
          device.calls.push_back(fmt::format("{}\n{}", kind, calls[i]));
          device.alone_ns.emplace_back();
        }
        beside.call = number->second;
      }
      device.beside.push_back(beside);
    }
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const auto number = numbers.find(calls[i]);
      if (number != numbers.end() && is_alone(kernels[i])) {
        device.alone_ns[number->second].push_back(static_cast<double>(kernels[i]->ns()));
      }
    }
  }
}

}  // namespace

std::vector<ProfiledDevice> profiled_devices(const Profile& profile) {
  std::vector<ProfiledDevice> devices;
  const DeviceTimeline timeline = et_schema::device_timeline(profile);
  const CallNames names(profile, timeline);
  for (const auto& [id, events] : events_by_device(profile, timeline)) {
    ProfiledDevice device;
    device.device = profile.device_name(id);
    device.file = et_schema::file_name(profile.file);
    device.rank = profile.distributed ? profile.distributed->rank : -1;
    device.clock_ns = clock_of(events);
    std::map<std::uint32_t, Stretches> work;  // by stream
    Stretches kernels;
    for (const DeviceEvent* kernel : events.kernels) {
      work[kernel->stream].push_back(kernel->stretch());
      kernels.push_back(kernel->stretch());
    }
    kernels = merged_stretches(std::move(kernels));
    Stretches comms;
    for (const auto& [event, named] : events.comms) {
      comms.push_back(event->stretch());
      device.comms.push_back(comm_of(*event, named, names, kernels));
    }
    add_kernels(events, names, merged_stretches(std::move(comms)), several_streams(work), device);
    if (!device.beside.empty() || !device.comms.empty()) {
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

}  // namespace understudy::predictor
