#include "join.h"

#include <algorithm>
#include <limits>

#include "generator/flow/model_names.h"
#include "generator/flow/steps.h"

namespace understudy::generator {

namespace {

/// A step whose agreement is lower than the best by more than this ran differently.
constexpr double kOtherWay = 0.005;

void count_events(JoinedStep& step, const HostEvents& host) {
  step.events = 0;
  for (const HostThread& thread : host.threads) {
    const EventRange range = host.started_in(thread, step.span.begin_ns, step.span.end_ns);
    step.events += range.end - range.begin;
  }
  const bool has_bare_mark =
      step.span.mark != kNoEvent &&
      std::ranges::find(step.event_of, step.span.mark) == step.event_of.end();
  step.events -= has_bare_mark ? 1U : 0U;
}

double agreement_of(const JoinedStep& step) {
  const double elements =
      static_cast<double>(step.event_of.size()) + static_cast<double>(step.events);
  return elements == 0 ? 0 : 2 * static_cast<double>(count_joined(step.event_of)) / elements;
}

void leave_out_other_ways(Join& join) {
  double best = 0;
  for (const JoinedStep& step : join.steps) {
    best = std::max(best, agreement_of(step));
  }
  join.other_ways = std::erase_if(
      join.steps, [best](const JoinedStep& step) { return agreement_of(step) < best - kOtherWay; });
}

}  // namespace

JoinNodes join_nodes(const et_schema::Trace& trace, IdRange step, NameTable& names) {
  JoinNodes joined;
  std::size_t marks = 0;
  for (NodeIndex i = 0; i < trace.nodes.size(); ++i) {
    const et_schema::Node& node = trace.nodes[i];
    if (step.contains(node.id) && node.rf_id != 0 && node.name != "## process_group:init ##" &&
        !node.name.starts_with("[pytorch|profiler|execution_")) {
      joined.nodes.push_back(i);
      joined.names.push_back(names.number(node.name));
      marks += is_step_mark(node.name) ? 1U : 0U;
    }
  }
  joined.is_one_step = marks <= 1;
  return joined;
}

std::int64_t JoinedStep::begin_ns(const HostEvents& host) const {
  if (span.mark != kNoEvent) {
    return host.events[span.mark].start_ns;
  }
  std::int64_t first = kLatestNs;
  for (const HostIndex event : event_of) {
    first = event == kNoEvent ? first : std::min(first, host.events[event].start_ns);
  }
  return first == kLatestNs ? 0 : first;
}

std::int64_t JoinedStep::end_ns(const HostEvents& host) const {
  if (span.mark != kNoEvent) {
    return host.events[span.mark].end_ns;
  }
  std::int64_t last = 0;
  for (const HostIndex event : event_of) {
    last = event == kNoEvent ? last : std::max(last, host.events[event].end_ns);
  }
  return last;
}

std::size_t count_joined(const std::vector<HostIndex>& event_of) {
  return event_of.size() - static_cast<std::size_t>(std::ranges::count(event_of, kNoEvent));
}

void sum_up(Join& join, const HostEvents& host, std::size_t nodes) {
  for (JoinedStep& step : join.steps) {
    count_events(step, host);
  }
  if (join.kind == et_schema::JoinKind::kOrder) {
    leave_out_other_ways(join);
  }
  std::uint64_t pairs = 0;
  std::uint64_t elements = 0;
  std::vector<std::size_t> times(nodes);
  for (const JoinedStep& step : join.steps) {
    elements += nodes + step.events;
    for (std::size_t i = 0; i < nodes; ++i) {
      times[i] += step.event_of[i] == kNoEvent ? 0U : 1U;
    }
  }
  for (const std::size_t count : times) {
    pairs += count;
    join.joined += count > 0 && 2 * count >= join.steps.size() ? 1U : 0U;
  }
  join.agreement =
      elements == 0 ? 0 : 2 * static_cast<double>(pairs) / static_cast<double>(elements);
}

std::vector<NodeIndex> nodes_of_events(const Join& join, const JoinNodes& nodes,
                                       const HostEvents& host) {
  std::vector<NodeIndex> node_of(host.events.size(), kNoNode);
  for (const JoinedStep& step : join.steps) {
    for (std::size_t i = 0; i < step.event_of.size(); ++i) {
      if (step.event_of[i] != kNoEvent) {
        node_of[step.event_of[i]] = nodes.nodes[i];
      }
    }
  }
  return node_of;
}

HostIndex joined_around(HostIndex event, const std::vector<NodeIndex>& node_of,
                        const HostEvents& host) {
  while (event != kNoEvent && node_of[event] == kNoNode) {
    event = host.events[event].parent;
  }
  return event;
}

std::vector<StepSpan> launch_spans(const Join& join, const HostEvents& host) {
  const std::int64_t whole_end_ns = whole_profile(host).end_ns;
  std::vector<StepSpan> spans;
  for (const JoinedStep& step : join.steps) {
    spans.push_back(step.span);
    if (step.span.end_ns >= whole_end_ns) {
      spans.back().end_ns = std::numeric_limits<std::int64_t>::max();
    }
  }
  return spans;
}

}  // namespace understudy::generator
