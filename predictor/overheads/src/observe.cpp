#include <algorithm>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "generator/link/clock.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {
namespace {

using generator::HostEvents;
using generator::HostIndex;
using generator::kNoEvent;

/// Longer gaps belong to the program: data loading, printing, waits.
constexpr double kMostGapNs = 200e3;

void add_gap(double ns, OverheadSamples& samples) {
  if (ns >= 0 && ns < kMostGapNs) {
    samples.gaps_ns.push_back(ns);
  }
}

/// Returns which events launched device work, they or what is below them.
std::vector<bool> launching(const et_schema::Profile& profile, const HostEvents& host) {
  std::vector<bool> launches(host.events.size());
  for (const et_schema::DeviceEvent& work : device_timeline(profile).events) {
    const HostIndex launcher = work.launcher == et_schema::kUnknownEvent
                                   ? kNoEvent
                                   : host.event_of(static_cast<std::uint32_t>(work.launcher));
    for (HostIndex at = launcher; at != kNoEvent && !launches[at]; at = host.events[at].parent) {
      launches[at] = true;
    }
  }
  return launches;
}

void observe(const HostEvents& host, const generator::HostThread& thread,
             const std::vector<bool>& launches, OverheadSamples& samples) {
  HostIndex before = kNoEvent;
  for (HostIndex at = thread.begin; at < thread.end;) {
    const generator::HostEvent& event = host.events[at];
    if (!event.is_operator) {
      ++at;
      continue;
    }
    // Annotations between two operators belong to the program.
    if (before != kNoEvent && host.events[before].behind == at &&
        host.events[before].parent == event.parent) {
      add_gap(static_cast<double>(event.start_ns - host.events[before].end_ns), samples);
    }
    OverheadSamples::OfOperator& known = samples.operators[std::string(host.source(at).name)];
    (launches[at] ? known.launching_ns : known.unlaunched_ns)
        .push_back(static_cast<double>(event.end_ns - event.start_ns));
    before = at;
    at = event.behind;
  }
}

/// If not `ran_on_device`, an operator's time on the host is its work.
void add_instruction(const et_schema::Instruction& instruction, bool ran_on_device,
                     OverheadSamples& samples) {
  using et_schema::InstructionKind;
  if (!instruction.timing || instruction.kind == InstructionKind::kMarker ||
      instruction.kind == InstructionKind::kAlias) {
    return;
  }
  const et_schema::Timing& timing = *instruction.timing;
  add_gap(static_cast<double>(timing.gap_ns), samples);
  if (ran_on_device) {
    OverheadSamples::OfOperator& of_operator = samples.operators[instruction.name];
    (timing.launches == 0 ? of_operator.unlaunched_ns : of_operator.launching_ns)
        .push_back(static_cast<double>(std::max<std::int64_t>(0, timing.host_ns)));
  }
}

}  // namespace

OverheadSamples observe(const et_schema::Profile& profile) {
  generator::NameTable names;
  HostEvents host = host_events(profile, names);
  take_out(find_event_cost(host, false, {}), {}, host);
  const std::vector<bool> launches = launching(profile, host);
  OverheadSamples samples;
  for (const generator::HostThread& thread : host.threads) {
    observe(host, thread, launches, samples);
  }
  return samples;
}

OverheadSamples observe(const et_schema::Program& program) {
  const bool ran_on_device =
      std::ranges::any_of(program.instructions, [](const et_schema::Instruction& instruction) {
        return instruction.timing && instruction.timing->launches > 0;
      });
  OverheadSamples samples;
  for (const et_schema::Instruction& instruction : program.instructions) {
    add_instruction(instruction, ran_on_device, samples);
  }
  return samples;
}

}  // namespace understudy::predictor
