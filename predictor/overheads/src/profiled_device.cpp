#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "et_schema/kineto/nested_events.h"
#include "et_schema/support/file_name.h"
#include "predictor/overheads/observe_overlap.h"

namespace understudy::predictor {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoComm;
using et_schema::KinetoEvent;
using et_schema::Profile;

/// The name of a kernel of communication that does not name its collective.
constexpr std::string_view kCommKernel = "nccl";

/// Whether the event lasts some time and ends within the range of the number type.
bool has_length(const KinetoEvent& event) {
  std::int64_t end_ns = 0;
  return event.dur_ns > 0 && !__builtin_add_overflow(event.ts_ns, event.dur_ns, &end_ns);
}

/// The profiler's steps on the host, in order.
Stretches steps_of(const Profile& profile) {
  Stretches steps;
  for (const KinetoEvent& event : profile.events) {
    if (is_profiler_step(event) && has_length(event)) {
      steps.push_back(stretch_of(event));
    }
  }
  std::ranges::sort(steps, {}, &Stretch::start_ns);
  return steps;
}

/// Finds out which kernels are the same call.
class CallNames {
 public:
  explicit CallNames(const Profile& profile)
      : launches_(profile),
        operators_(nested_events(profile,
                                 [](const KinetoEvent& event) {
                                   return event.category == KinetoCategory::kCpuOp &&
                                          has_length(event);
                                 })),
        steps_(steps_of(profile)) {}

  /// Text for what is known of a kernel, apart from its place in the step.
  [[nodiscard]] std::string kind_of(const KinetoEvent& kernel) const {
    const DeviceLaunch launch = launch_of(kernel);
    return fmt::format("{}\n{}\n{}\n{}\n{}", kernel.name, kernel.shape, kernel.bytes,
                       launch.op ? launch.op->name : "", launch.op ? launch.op->shape : "");
  }

  /// The number of the call of each kernel; all of them are of one kind. kUnknownCall: not known.
  [[nodiscard]] std::vector<std::size_t> calls_of(
      const std::vector<const KinetoEvent*>& kernels) const {
    const DeviceLaunch launch = launch_of(*kernels.front());
    const bool has_sizes = launch.op && !launch.op->shape.empty();
    return has_sizes ? std::vector<std::size_t>(kernels.size(), 0) : places_of(kernels);
  }

  /// Text for the call of a communication that does not name its collective.
  [[nodiscard]] std::string comm_call_of(const KinetoEvent& kernel) const {
    const DeviceLaunch launch = launch_of(kernel);
    return launch.op && !launch.op->shape.empty() ? kind_of(kernel) : "";
  }

 private:
  /// The origin of a device's event.
  struct DeviceLaunch {
    const KinetoEvent* call = nullptr;  ///< as Launches tells it
    const KinetoEvent* op = nullptr;    ///< the innermost operator that made the call; may be null
  };
  [[nodiscard]] DeviceLaunch launch_of(const KinetoEvent& kernel) const {
    const KinetoEvent* call = launches_.of(kernel);
    if (call == nullptr) {
      return {};
    }
    const auto around = innermost_around(operators_, *call);
    return {call, around ? operators_[*around].event : nullptr};
  }

  /// The number of each kernel among those that its step launched. It is not known for a kernel
  /// that no step launched, and for none of them unless there are two steps or more that launched
  /// equally many.
  [[nodiscard]] std::vector<std::size_t> places_of(
      const std::vector<const KinetoEvent*>& kernels) const {
    std::vector<std::size_t> places(kernels.size(), kUnknownCall);
    std::vector<std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>>> by_step(
        steps_.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const DeviceLaunch launch = launch_of(*kernels[i]);
      const auto step = launch.call == nullptr ? steps_.end() : step_at(launch.call->ts_ns);
      if (step != steps_.end()) {
        by_step[static_cast<std::size_t>(step - steps_.begin())].emplace_back(launch.call->ts_ns,
                                                                              kernels[i]->ts_ns, i);
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

  [[nodiscard]] Stretches::const_iterator step_at(std::int64_t ns) const {
    const auto next = std::ranges::upper_bound(steps_, ns, {}, &Stretch::start_ns);
    return next == steps_.begin() || ns >= std::prev(next)->end_ns ? steps_.end() : std::prev(next);
  }

  et_schema::Launches launches_;
  std::vector<et_schema::NestedEvent> operators_;
  Stretches steps_;
};

struct StreamStretch {
  std::int64_t stream = 0;
  Stretch stretch = {};
};

/// The time when two or more different streams work, as separate stretches in order.
Stretches several_streams(const std::vector<StreamStretch>& work) {
  struct Edge {
    std::int64_t ns;
    int change;  // a stretch ends before one that starts at the same moment
    std::int64_t stream;
  };
  std::vector<Edge> edges;
  for (const StreamStretch& one : work) {
    if (one.stretch.ns() > 0) {
      edges.push_back({one.stretch.start_ns, 1, one.stream});
      edges.push_back({one.stretch.end_ns, -1, one.stream});
    }
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return std::tie(a.ns, a.change) < std::tie(b.ns, b.change);
  });
  std::unordered_map<std::int64_t, int> open;
  int streams = 0;
  Stretches several;
  for (const Edge& edge : edges) {
    int& own = open[edge.stream];
    const int before = streams;
    own += edge.change;
    if (edge.change > 0 && own == 1) {
      ++streams;
    } else if (edge.change < 0 && own == 0) {
      --streams;
    }
    if (before < 2 && streams >= 2) {
      several.push_back({edge.ns, edge.ns});
    } else if (before >= 2 && streams < 2) {
      several.back().end_ns = edge.ns;
    }
  }
  return merged_stretches(std::move(several));
}

/// A device's events.
struct DeviceEvents {
  std::vector<const KinetoEvent*> kernels;
  std::vector<std::pair<const KinetoEvent*, const KinetoComm*>> comms;
};

std::map<std::int64_t, DeviceEvents> events_by_device(const Profile& profile) {
  std::unordered_map<std::size_t, const KinetoComm*> named;
  for (const KinetoComm& comm : profile.comms) {
    named.emplace(comm.event, &comm);
  }
  std::map<std::int64_t, DeviceEvents> devices;
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const KinetoEvent& event = profile.events[i];
    if (!is_device_work(event) || !has_length(event)) {
      continue;
    }
    const auto found = named.find(i);
    DeviceEvents& device = devices[event.pid];
    if (found != named.end() || event.name.starts_with(kCommKernel)) {
      device.comms.emplace_back(&event, found == named.end() ? nullptr : found->second);
    } else {
      device.kernels.push_back(&event);
    }
  }
  return devices;
}

/// The clock's unit: older profiles have whole microseconds.
std::int64_t clock_of(const DeviceEvents& events) {
  constexpr std::int64_t kMicrosecond = 1000;
  const auto is_whole = [](const KinetoEvent* event) {
    return event->ts_ns % kMicrosecond == 0 && event->dur_ns % kMicrosecond == 0;
  };
  return std::ranges::all_of(events.kernels, is_whole) ? kMicrosecond : 1;
}

ProfiledComm comm_of(const KinetoEvent& event, const KinetoComm* named, const CallNames& names,
                     const Stretches& kernels) {
  ProfiledComm comm;
  comm.stretch = stretch_of(event);
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

/// Adds the kernels of each kind of which one ran beside something, separated by call.
void add_kernels(const DeviceEvents& events, const CallNames& names, const Stretches& comms,
                 const Stretches& several, ProfiledDevice& device) {
  const auto beside_ns = [&](const KinetoEvent* kernel) {
    return std::pair(covered_ns(comms, stretch_of(*kernel)),
                     covered_ns(several, stretch_of(*kernel)));
  };
  const auto is_alone = [&](const KinetoEvent* kernel) {
    return beside_ns(kernel) == std::pair<std::int64_t, std::int64_t>();
  };
  std::map<std::string, std::vector<const KinetoEvent*>> kinds;
  for (const KinetoEvent* kernel : events.kernels) {
    kinds[names.kind_of(*kernel)].push_back(kernel);
  }
  for (const auto& [kind, kernels] : kinds) {
    if (std::ranges::all_of(kernels, is_alone)) {
      continue;
    }
    const std::vector<std::size_t> calls = names.calls_of(kernels);
    std::map<std::size_t, std::size_t> numbers;  // numbers of the calls that ran beside something
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (is_alone(kernels[i])) {
        continue;
      }
      BesideKernel beside{kUnknownCall, stretch_of(*kernels[i]), beside_ns(kernels[i]).second};
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
        device.alone_ns[number->second].push_back(static_cast<double>(kernels[i]->dur_ns));
      }
    }
  }
}

}  // namespace

std::vector<ProfiledDevice> profiled_devices(const Profile& profile) {
  std::vector<ProfiledDevice> devices;
  const CallNames names(profile);
  for (const auto& [id, events] : events_by_device(profile)) {
    ProfiledDevice device;
    device.device = profile.device_name(id);
    device.file = et_schema::file_name(profile.file);
    device.rank = profile.distributed ? profile.distributed->rank : -1;
    device.clock_ns = clock_of(events);
    std::vector<StreamStretch> work;
    Stretches kernels;
    for (const KinetoEvent* kernel : events.kernels) {
      work.push_back({kernel->tid, stretch_of(*kernel)});
      kernels.push_back(stretch_of(*kernel));
    }
    kernels = merged_stretches(std::move(kernels));
    Stretches comms;
    for (const auto& [event, named] : events.comms) {
      comms.push_back(stretch_of(*event));
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
