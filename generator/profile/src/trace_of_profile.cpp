#include "generator/profile/trace_of_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "calls.h"
#include "et_schema/support/arena.h"
#include "et_schema/support/error.h"
#include "lists.h"
#include "nodes.h"
#include "walk.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::KinetoEvent;
using et_schema::Profile;
using et_schema::Trace;

/// Gives events ids of their own where they have none, or several the same.
void number_events(Profile& profile, const HostEvents& host) {
  std::set<std::int64_t> ids;
  for (const HostEvent& event : host.events) {
    ids.insert(profile.events[event.source].rf_id);
  }
  if (ids.size() == host.events.size() && *ids.begin() > 0) {
    return;
  }
  std::int64_t next = 0;
  for (const HostEvent& event : host.events) {
    profile.events[event.source].rf_id = ++next;
  }
}

}  // namespace

Trace trace_of_profile(Profile& profile, const AskResults& ask) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  if (std::ranges::none_of(host.events, &HostEvent::is_operator)) {
    throw et_schema::bad_input(
        "a profile without operators",
        {.file = profile.file,
         .field = "traceEvents",
         .expected = "operators (cat cpu_op)",
         .got = fmt::format("{} events, none of them an operator", profile.events.size()),
         .hint = "profile with ProfilerActivity.CPU too; inspect --device-time shows what this "
                 "profile tells of its kernels"});
  }
  const DeviceEvents device = link_device_events(profile, host);
  number_events(profile, host);
  Trace trace;
  trace.file = profile.file;
  trace.schema = fmt::format("kineto {}", profile.schema_version);
  trace.content_hash = profile.content_hash;
  trace.content_bytes = profile.content_bytes;
  trace.losses = profile.losses;
  trace.arena = std::make_unique<std::pmr::monotonic_buffer_resource>();
  if (profile.distributed) {
    trace.rank = static_cast<int>(profile.distributed->rank);
    trace.process_groups = profile.distributed->groups;
  }
  fill_lists(profile, host, Arena(*trace.arena), trace.losses);
  std::vector<Call> calls =
      read_calls(profile, host, device, Arena(*trace.arena), ask, trace.losses);
  Walked walked = walk_calls(profile, host, calls, Arena(*trace.arena), trace.losses);
  add_nodes(profile, host, device, calls, walked, trace);
  return trace;
}

}  // namespace understudy::generator
