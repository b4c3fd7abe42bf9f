#include "join.h"

#include <algorithm>
#include <limits>

namespace understudy::generator {

bool is_profiled(const et_schema::Node& node) {
  return node.rf_id != 0 && node.name != "## process_group:init ##" &&
         !node.name.starts_with("[pytorch|profiler|execution_");
}

namespace {

/// A step that agrees with the trace by this much less than the best step took another way.
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
  const auto unjoined = std::ranges::count(step.event_of, kNoEvent);
  const auto nodes = static_cast<double>(step.event_of.size());
  const double elements = nodes + static_cast<double>(step.events);
  return elements == 0 ? 0 : 2 * (nodes - static_cast<double>(unjoined)) / elements;
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
