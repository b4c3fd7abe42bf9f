#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "et_schema/formats/kineto/nested_events.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

/// Longer gaps belong to the program: data loading, printing, waits.
constexpr double kMostGapNs = 200e3;

using Nested = std::vector<et_schema::NestedEvent>;

bool is_host_event(const KinetoEvent& event) {
  return (event.category == KinetoCategory::kCpuOp ||
          event.category == KinetoCategory::kUserAnnotation ||
          event.category == KinetoCategory::kRuntime) &&
         event.dur_ns >= 0 && event.tid >= 0;
}

std::int64_t start_ns(const et_schema::NestedEvent& nested) {
  return nested.event->ts_ns;
}
std::int64_t end_ns(const et_schema::NestedEvent& nested) {
  return stretch_of(*nested.event).end_ns;
}

double cheapest_fifth(std::vector<double> samples_ns, double most_ns) {
  constexpr std::size_t kLeast = 32;
  constexpr std::size_t kFifth = 5;
  if (samples_ns.size() < kLeast) {
    return 0;
  }
  std::ranges::sort(samples_ns);
  const std::size_t kept = samples_ns.size() / kFifth;
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    sum += samples_ns[i];
  }
  return std::clamp(sum / static_cast<double>(kept), 0.0, most_ns);
}

/// Returns the cost of recording an event: the mean of the cheapest fifth of the times between an
/// event's start and its first inner event's, plus that between its end and its last one's
/// (docs/metrics.md, "Recorded times"). At most 3 and 4 us; 0 with fewer than 32 samples.
double recording_ns(const Nested& events) {
  constexpr double kMostBeforeNs = 3000;
  constexpr double kMostAfterNs = 4000;
  std::vector<double> before;
  std::vector<double> after;
  std::vector<std::optional<std::size_t>> last(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (const auto parent = events[i].parent) {
      if (!last[*parent]) {
        before.push_back(static_cast<double>(start_ns(events[i]) - start_ns(events[*parent])));
      }
      last[*parent] = i;
    }
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (last[i]) {
      after.push_back(static_cast<double>(end_ns(events[i]) - end_ns(events[*last[i]])));
    }
  }
  return cheapest_fifth(std::move(before), kMostBeforeNs) +
         cheapest_fifth(std::move(after), kMostAfterNs);
}

class Observer {
 public:
  explicit Observer(const Profile& profile)
      : events_(nested_events(profile, is_host_event)), cost_ns_(recording_ns(events_)) {
    for (const KinetoEvent& event : profile.events) {
      if (is_device_work(event) && event.correlation >= 0) {
        on_device_.insert(event.correlation);
      }
    }
  }

  OverheadSamples observe() {
    std::optional<std::size_t> before;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (is_outermost(i)) {
        if (before) {
          add_gap(*before, i);
        }
        add_operator(i);
        before = i;
      }
    }
    return std::move(samples_);
  }

 private:
  /// Returns true if no operator encloses it.
  [[nodiscard]] bool is_outermost(std::size_t i) const {
    if (events_[i].event->category != KinetoCategory::kCpuOp) {
      return false;
    }
    for (auto at = events_[i].parent; at; at = events_[*at].parent) {
      if (events_[*at].event->category == KinetoCategory::kCpuOp) {
        return false;
      }
    }
    return true;
  }

  /// Returns the time from `begin_ns` to `end_ns` minus the cost of recording `events` events in
  /// between.
  [[nodiscard]] double net(std::int64_t begin_ns, std::int64_t end_ns, std::size_t events) const {
    return std::max(
        0.0, static_cast<double>(end_ns - begin_ns) - static_cast<double>(events) * cost_ns_);
  }

  void add_gap(std::size_t before, std::size_t i) {
    if (!are_on_one_thread(*events_[before].event, *events_[i].event) ||
        events_[before].parent != events_[i].parent) {
      return;
    }
    // Annotations between two operators belong to the program.
    const std::size_t between = i - events_[before].end;
    // The end of the one and the start of the other cost as much as an event.
    const double gap_ns = net(end_ns(events_[before]), start_ns(events_[i]), between + 1);
    if (between == 0 && gap_ns < kMostGapNs) {
      samples_.gaps_ns.push_back(gap_ns);
    }
  }

  void add_operator(std::size_t i) {
    const et_schema::NestedEvent& span = events_[i];
    bool launches = false;
    for (std::size_t at = i + 1; at < span.end; ++at) {
      const KinetoEvent& event = *events_[at].event;
      launches |=
          event.category == KinetoCategory::kRuntime && on_device_.contains(event.correlation);
    }
    OverheadSamples::OfOperator& known = samples_.operators[std::string(span.event->name)];
    (launches ? known.launching_ns : known.unlaunched_ns)
        .push_back(net(start_ns(span), end_ns(span), span.end - i - 1));
  }

  Nested events_;
  double cost_ns_;
  std::set<std::int64_t> on_device_;
  OverheadSamples samples_;
};

/// If not `ran_on_device`, an operator's time on the host is its work.
void add_instruction(const et_schema::Instruction& instruction, bool ran_on_device,
                     OverheadSamples& samples) {
  using et_schema::InstructionKind;
  if (!instruction.timing || instruction.kind == InstructionKind::kMarker ||
      instruction.kind == InstructionKind::kAlias) {
    return;
  }
  const et_schema::Timing& timing = *instruction.timing;
  const auto gap_ns = static_cast<double>(timing.gap_ns);
  if (gap_ns >= 0 && gap_ns < kMostGapNs) {
    samples.gaps_ns.push_back(gap_ns);
  }
  if (ran_on_device) {
    OverheadSamples::OfOperator& of_operator = samples.operators[instruction.name];
    (timing.launches == 0 ? of_operator.unlaunched_ns : of_operator.launching_ns)
        .push_back(static_cast<double>(std::max<std::int64_t>(0, timing.host_ns)));
  }
}

}  // namespace

OverheadSamples observe(const et_schema::Profile& profile) {
  return Observer(profile).observe();
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
