#include "generator/profile/trace_of_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calls.h"
#include "et_schema/support/arena.h"
#include "et_schema/support/error.h"
#include "generator/link/profiled_steps.h"
#include "walk.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::Profile;
using et_schema::Trace;

/// Gives events ids of their own where they have none, or several the same.
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

/// Their events on devices are told apart by numbers that each process counts for itself.
void refuse_several_processes(const Profile& profile, const HostEvents& host) {
  std::map<std::int64_t, std::size_t> operators;
  for (const HostThread& thread : host.threads) {
    for (HostIndex i = thread.begin; i < thread.end; ++i) {
      operators[thread.pid] += host.events[i].is_operator ? 1U : 0U;
    }
  }
  std::erase_if(operators, [](const auto& process) { return process.second == 0; });
  if (operators.size() < 2) {
    return;
  }
  std::vector<std::string> counts;
  for (const auto& [pid, count] : operators) {
    counts.push_back(fmt::format("{} of {}", count, pid));
  }
  throw et_schema::bad_input(
      "a profile of several processes",
      {.file = profile.file,
       .field = "pid",
       .expected = "the operators of one process",
       .got = fmt::format("{}", fmt::join(counts, ", ")),
       .hint = "give the profile that each process wrote, as a file of its own for each rank "
               "(replay --trace step.json writes step.0.json, … beside it)"});
}

std::uint64_t operators_in(const HostEvents& host) {
  return static_cast<std::uint64_t>(std::ranges::count_if(host.events, &HostEvent::is_operator));
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

Trace trace_of_profile(Profile& profile, const AskResults& ask, std::string_view step) {
  NameTable names;
  const HostEvents all = host_events(profile, names);
  if (operators_in(all) == 0) {
    const bool has_graphs = std::ranges::any_of(profile.events, et_schema::is_graph_launch);
    throw et_schema::bad_input(
        "a profile without operators",
        {.file = profile.file,
         .field = "traceEvents",
         .expected = "operators (cat cpu_op)",
         .got = fmt::format("{} events, none of them an operator{}", profile.events.size(),
                            has_graphs ? ": the step launches graphs" : ""),
         .hint =
             fmt::format("{}; inspect --device-time shows what this profile tells of its kernels",
                         has_graphs ? "generate EAGER --graph-profile FILE takes operators from a "
                                      "profile of the step run eagerly, and times from this one"
                                    : "profile with ProfilerActivity.CPU too")});
  }
  refuse_several_processes(profile, all);
  number_events(profile, all);
  const HostEvents host = events_of_step(all, step);
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  Trace trace;
  trace.file = profile.file;
  trace.schema = fmt::format("kineto {}", profile.schema_version);
  trace.content_hash = profile.content_hash;
  trace.content_bytes = profile.content_bytes;
  trace.losses = profile.losses;
  trace.losses.add(et_schema::Loss::kDamagedTimes, host.damaged_times);
  trace.losses.add(et_schema::Loss::kNodesOutsideStep, operators_in(all) - operators_in(host));
  trace.arena = std::make_unique<std::pmr::monotonic_buffer_resource>();
  if (profile.distributed) {
    trace.rank = static_cast<int>(profile.distributed->rank);
    trace.process_groups = profile.distributed->groups;
  }
  fill_lists(profile, host, Arena(*trace.arena), trace.losses);
  std::vector<Call> calls =
      read_calls(profile, host, device, Arena(*trace.arena), ask, trace.losses);
  Walked walked = walk_calls(profile, host, calls, Arena(*trace.arena), ask, trace.losses);
  add_nodes(host, device, calls, walked, trace);
  return trace;
}

}  // namespace understudy::generator
