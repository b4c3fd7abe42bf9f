#include "generator/profile/trace_of_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm_events.h"
#include "et_schema/base/arena.h"
#include "et_schema/base/error.h"
#include "generator/link/profiled_steps.h"
#include "read_calls.h"
#include "walk.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::Profile;
using et_schema::Trace;

/// Assigns ids to events if some have none, or several have the same.
void number_events(Profile& profile, const HostEvents& host) {
  std::vector<std::int64_t> ids;
  for (const HostEvent& event : host.events) {
    ids.push_back(profile.events[event.source].rf_id);
  }
  std::ranges::sort(ids);
  if (ids.front() > 0 && std::ranges::adjacent_find(ids) == ids.end()) {
    return;
  }
  std::int64_t next = 0;
  for (const HostEvent& event : host.events) {
    profile.events[event.source].rf_id = ++next;
  }
}

std::uint64_t operators_in(const HostEvents& host) {
  return static_cast<std::uint64_t>(std::ranges::count_if(host.events, &HostEvent::is_operator));
}

/// Adds the group of all ranks if it is missing.
void add_world(std::vector<et_schema::ProcessGroup>& groups, std::int64_t size) {
  const bool is_listed = std::ranges::any_of(groups, [size](const et_schema::ProcessGroup& group) {
    return group.ranks.empty() || group.size >= size;
  });
  if (size > 1 && !is_listed) {
    groups.push_back({"0", "default_pg", {}, {}, std::min(size, kMostRanks)});
  }
}

HostEvents events_of_step(HostEvents host, std::string_view step) {
  const std::vector<StepSpan> steps = marked_steps(host);
  if (step == "all" || steps.size() < 2) {
    return host;
  }
  const auto chosen = std::ranges::find_if(steps, [&](const StepSpan& span) {
    return step.empty() || host.source(span.mark).name.ends_with(fmt::format("#{}", step));
  });
  std::vector<bool> kept(host.events.size());
  for (const StepSpan& span : steps) {
    kept[span.mark] = true;
  }
  for (HostIndex i = 0; chosen != steps.end() && i < host.events.size(); ++i) {
    kept[i] = kept[i] || (host.events[i].start_ns >= chosen->begin_ns &&
                          host.events[i].start_ns < chosen->end_ns);
  }
  return host.only(kept);
}

}  // namespace

std::string typical_step(const Profile& profile) {
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  std::vector<std::pair<std::int64_t, std::string_view>> lengths;
  for (const et_schema::EventIndex step : device.usable_steps()) {
    lengths.emplace_back(device.steps[step].length_ns, device.steps[step].name);
  }
  if (device.steps.size() < 2 || lengths.empty()) {
    return {};
  }
  std::ranges::sort(lengths);
  const std::string_view name = lengths[(lengths.size() - 1) / 2].second;
  return std::string(name.substr(name.find('#') + 1));
}

Trace trace_of_profile(Profile& profile, const AskResults& ask, std::string_view step) {
  NameTable names;
  HostEvents all = host_events(profile, names);
  if (operators_in(all) == 0) {
    const bool has_graphs = std::ranges::any_of(profile.events, et_schema::is_graph_launch);
    throw et_schema::bad_input(
        "a profile without operators",
        {.file = profile.file,
         .field = "traceEvents",
         .expected = "operators (cat cpu_op)",
         .got = fmt::format("{} events, none of them an operator{}", profile.events.size(),
                            has_graphs ? ": the step launches graphs" : ""),
         .hint = fmt::format(
             "{}; understudy inspect --device-time shows what this profile tells of its kernels",
             has_graphs ? "understudy generate EAGER --graph-profile FILE takes operators from a "
                          "profile of the step run eagerly, and times from this one"
                        : "profile with ProfilerActivity.CPU too")});
  }
  Trace trace;
  if (complete_communication(profile, all, trace.losses)) {
    all = host_events(profile, names);
  }
  number_events(profile, all);
  const HostEvents host = events_of_step(all, step);
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  trace.file = profile.file;
  trace.schema = fmt::format("kineto {}", profile.schema_version);
  trace.content_hash = profile.content_hash;
  trace.content_bytes = profile.content_bytes;
  trace.losses += profile.losses;
  trace.losses.add(et_schema::Loss::kDamagedTimes, host.damaged_times);
  trace.losses.add(et_schema::Loss::kNodesOutsideStep, operators_in(all) - operators_in(host));
  trace.arena = std::make_unique<std::pmr::monotonic_buffer_resource>();
  if (profile.distributed) {
    trace.rank = static_cast<int>(profile.distributed->rank);
    trace.process_groups = profile.distributed->groups;
    add_world(trace.process_groups, profile.distributed->world_size);
  }
  fill_lists(profile, host, Arena(*trace.arena), trace.losses);
  std::vector<Call> calls =
      read_calls(profile, host, device, Arena(*trace.arena), ask, trace.losses);
  Walked walked = walk_calls(profile, host, calls, Arena(*trace.arena), ask, trace.losses);
  add_nodes(host, device, calls, walked, trace);
  return trace;
}

}  // namespace understudy::generator
