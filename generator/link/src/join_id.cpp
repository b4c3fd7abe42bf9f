#include <algorithm>
#include <cstddef>

#include "join.h"

namespace understudy::generator {
namespace {

using et_schema::Trace;

/// If fewer nodes are found by id, the ids belong to another run.
constexpr double kLeastById = 0.9;

struct IdEntry {
  std::int64_t rf_id = 0;
  HostIndex event = 0;
};

std::vector<IdEntry> events_by_id(const HostEvents& host) {
  std::vector<IdEntry> entries;
  for (HostIndex i = 0; i < host.events.size(); ++i) {
    if (const std::int64_t rf_id = host.source(i).rf_id; rf_id > 0) {
      entries.push_back({rf_id, i});
    }
  }
  std::ranges::stable_sort(entries, {}, &IdEntry::rf_id);
  return entries;
}

/// Returns the difference between the profile's ids and the trace's. Each name that both show
/// equally often votes with the difference of its sums of ids; the majority wins. 0 without any.
std::int64_t find_offset(const Trace& trace, const JoinNodes& nodes, const HostEvents& host,
                         const std::vector<IdEntry>& entries, std::size_t names) {
  struct Seen {
    std::uint32_t nodes = 0;
    std::uint32_t events = 0;
    std::uint64_t distance = 0;  ///< difference of the sums of ids, modulo 2^64
  };
  std::vector<Seen> seen(names);
  for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
    Seen& name = seen[nodes.names[i]];
    ++name.nodes;
    name.distance -= trace.nodes[nodes.nodes[i]].rf_id;
  }
  for (const IdEntry& entry : entries) {
    Seen& name = seen[host.events[entry.event].name];
    ++name.events;
    name.distance += static_cast<std::uint64_t>(entry.rf_id);
  }
  std::vector<std::int64_t> distances;
  for (const Seen& name : seen) {
    const auto distance = static_cast<std::int64_t>(name.distance);
    if (name.nodes > 0 && name.nodes == name.events && distance % name.nodes == 0) {
      distances.push_back(distance / name.nodes);
    }
  }
  std::ranges::sort(distances);
  std::int64_t best = 0;
  std::size_t most = 0;
  for (std::size_t begin = 0, end = 0; begin < distances.size(); begin = end) {
    while (end < distances.size() && distances[end] == distances[begin]) {
      ++end;
    }
    if (end - begin > most) {
      most = end - begin;
      best = distances[begin];
    }
  }
  return best;
}

std::vector<HostIndex> match_ids(const Trace& trace, const JoinNodes& nodes, const HostEvents& host,
                                 const std::vector<IdEntry>& entries, std::int64_t offset) {
  std::vector<HostIndex> event_of(nodes.nodes.size(), kNoEvent);
  auto found = entries.begin();  // mostly the entry before the next node's
  for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
    const auto rf_id = static_cast<std::int64_t>(trace.nodes[nodes.nodes[i]].rf_id +
                                                 static_cast<std::uint64_t>(offset));
    const bool is_next = found != entries.end() && found->rf_id < rf_id &&
                         found + 1 != entries.end() && rf_id <= found[1].rf_id;
    found = is_next ? found + 1 : std::ranges::lower_bound(entries, rf_id, {}, &IdEntry::rf_id);
    if (found != entries.end() && found->rf_id == rf_id &&
        host.events[found->event].name == nodes.names[i]) {
      event_of[i] = found->event;
    }
  }
  return event_of;
}

/// Returns the time span of the joined events. If the first event is within a marked step of the
/// profile, the span begins with that step and has its mark.
StepSpan span_of(const std::vector<HostIndex>& event_of, const HostEvents& host,
                 const std::vector<StepSpan>& marked) {
  StepSpan span{0, 0, kNoEvent};
  for (const HostIndex event : event_of) {
    if (event != kNoEvent) {
      const HostEvent& host_event = host.events[event];
      const bool is_first = span.end_ns == 0;
      span.begin_ns = is_first ? host_event.start_ns : std::min(span.begin_ns, host_event.start_ns);
      span.end_ns = std::max(span.end_ns, host_event.end_ns + 1);
    }
  }
  for (const StepSpan& step : marked) {
    const bool is_around =
        step.mark != kNoEvent && step.begin_ns <= span.begin_ns && span.begin_ns < step.end_ns;
    if (is_around) {
      span.begin_ns = step.begin_ns;
      span.mark = step.mark;
    }
  }
  return span;
}

}  // namespace

Join join_by_id(const Trace& trace, const JoinNodes& nodes, const HostEvents& host,
                std::size_t names) {
  Join join{et_schema::JoinKind::kRecordFunctionId, {}, 0, 0};
  const std::vector<IdEntry> entries = events_by_id(host);
  std::vector<HostIndex> event_of = match_ids(trace, nodes, host, entries, 0);
  const std::size_t all = nodes.nodes.size();
  if (count_joined(event_of) < all) {
    const std::int64_t offset = find_offset(trace, nodes, host, entries, names);
    std::vector<HostIndex> moved = match_ids(trace, nodes, host, entries, offset);
    if (count_joined(moved) > count_joined(event_of)) {
      event_of = std::move(moved);
    }
  }
  const auto least = kLeastById * static_cast<double>(all);
  if (entries.empty() || static_cast<double>(count_joined(event_of)) < least) {
    return join;
  }
  const StepSpan span = span_of(event_of, host, marked_steps(host));
  join.steps.push_back({span, std::move(event_of), 0});
  sum_up(join, host, all);
  return join;
}

}  // namespace understudy::generator
