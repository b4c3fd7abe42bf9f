#include "generator/link/profiled_steps.h"

#include <algorithm>
#include <limits>

#include "generator/flow/steps.h"

namespace understudy::generator {
namespace {

/// A thread with this many times the sequence's events shows the sequence more than once.
constexpr double kLeastRepeats = 1.5;
/// Largest relative deviation of a name's occurrences from the number of repeats.
constexpr double kMostDeviation = 0.1;

/// Returns the position of the first name that occurs once in the sequence, and about as often on
/// the thread as the sequence does.
std::size_t find_anchor(std::span<const NameId> once, std::span<const HostEvent> events,
                        double repeats) {
  const NameId most = std::ranges::max(once);
  std::vector<std::uint32_t> in_sequence(most + std::size_t{1});
  std::vector<std::uint32_t> on_thread(most + std::size_t{1});
  for (const NameId name : once) {
    ++in_sequence[name];
  }
  for (const HostEvent& event : events) {
    if (event.name <= most) {
      ++on_thread[event.name];
    }
  }
  for (std::size_t i = 0; i < once.size(); ++i) {
    const double deviation = static_cast<double>(on_thread[once[i]]) / repeats - 1;
    if (in_sequence[once[i]] == 1 && deviation < kMostDeviation && deviation > -kMostDeviation) {
      return i;
    }
  }
  return once.size();
}

}  // namespace

StepSpan whole_profile(const HostEvents& host) {
  StepSpan span{std::numeric_limits<std::int64_t>::max(), 0, kNoEvent};
  for (const HostEvent& event : host.events) {
    span.begin_ns = std::min(span.begin_ns, event.start_ns);
    span.end_ns = std::max(span.end_ns, event.end_ns + 1);
  }
  return span;
}

std::vector<StepSpan> marked_steps(const HostEvents& host) {
  std::vector<StepSpan> steps;
  for (HostIndex i = 0; i < host.events.size(); ++i) {
    if (!host.events[i].is_operator && is_step_mark(host.source(i).name)) {
      steps.push_back({host.events[i].start_ns, 0, i});
    }
  }
  if (steps.size() < 2) {
    StepSpan all = whole_profile(host);
    all.mark = steps.empty() ? kNoEvent : steps.front().mark;
    return {all};
  }
  std::ranges::sort(steps, {}, &StepSpan::begin_ns);
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    steps[i].end_ns = steps[i + 1].begin_ns;
  }
  steps.back().end_ns = whole_profile(host).end_ns;
  return steps;
}

std::vector<StepSpan> repeated_steps(std::span<const NameId> once, const HostEvents& host,
                                     const HostThread& thread) {
  const std::span<const HostEvent> events = host.of(thread);
  const StepSpan all = whole_profile(host);
  const double repeats =
      once.empty() ? 0 : static_cast<double>(events.size()) / static_cast<double>(once.size());
  const std::size_t anchor =
      repeats < kLeastRepeats ? once.size() : find_anchor(once, events, repeats);
  if (anchor == once.size()) {
    return {all};
  }
  std::vector<StepSpan> steps;
  std::size_t least = 0;  // a step begins after the previous step's anchor
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].name != once[anchor]) {
      continue;
    }
    const std::size_t begin = std::max(least, i - std::min(i, anchor));
    if (!steps.empty()) {
      steps.back().end_ns = events[begin].start_ns;
    }
    steps.push_back({events[begin].start_ns, all.end_ns, kNoEvent});
    least = i + 1;
  }
  return steps;
}

}  // namespace understudy::generator
