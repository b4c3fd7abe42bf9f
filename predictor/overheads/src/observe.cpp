#include "predictor/overheads/observe.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace understudy::predictor {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

/// Longer gaps belong to the program: data, printing, a wait.
constexpr double kMostGapNs = 200e3;

/// An event of a host thread and the events in it.
struct HostSpan {
  const KinetoEvent* event = nullptr;
  std::size_t parent = 0;        ///< position of the event around it; its own: none
  std::size_t end_position = 0;  ///< one past the last event in it
  [[nodiscard]] std::int64_t start_ns() const { return event->ts_ns; }
  [[nodiscard]] std::int64_t end_ns() const { return event->ts_ns + event->dur_ns; }
};
/// A thread's events by start; an event comes before those that it encloses.
using Thread = std::vector<HostSpan>;

bool is_host_event(const KinetoEvent& event) {
  return event.category == KinetoCategory::kCpuOp ||
         event.category == KinetoCategory::kUserAnnotation ||
         event.category == KinetoCategory::kRuntime;
}

void nest(Thread& thread) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < thread.size(); ++i) {
    while (!open.empty() && thread[open.back()].end_ns() <= thread[i].start_ns()) {
      thread[open.back()].end_position = i;
      open.pop_back();
    }
    thread[i].parent = open.empty() ? i : open.back();
    open.push_back(i);
  }
  for (const std::size_t i : open) {
    thread[i].end_position = thread.size();
  }
}

std::vector<Thread> threads_of(const Profile& profile) {
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> by_id;
  for (const KinetoEvent& event : profile.events) {
    if (is_host_event(event) && event.dur_ns >= 0 && event.tid >= 0) {
      by_id[{event.pid, event.tid}].push_back({&event});
    }
  }
  std::vector<Thread> threads;
  for (auto& [id, thread] : by_id) {
    std::ranges::stable_sort(thread, [](const HostSpan& a, const HostSpan& b) {
      return std::pair(a.start_ns(), -a.event->dur_ns) < std::pair(b.start_ns(), -b.event->dur_ns);
    });
    nest(thread);
    threads.push_back(std::move(thread));
  }
  return threads;
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

ObserverCost cost_of(const std::vector<Thread>& threads) {
  constexpr double kMostBeforeNs = 3000;
  constexpr double kMostAfterNs = 4000;
  std::vector<double> before;
  std::vector<double> after;
  for (const Thread& thread : threads) {
    std::vector<std::size_t> last(thread.size(), thread.size());
    for (std::size_t i = 0; i < thread.size(); ++i) {
      const std::size_t parent = thread[i].parent;
      if (parent == i) {
        continue;
      }
      if (last[parent] == thread.size()) {
        before.push_back(static_cast<double>(thread[i].start_ns() - thread[parent].start_ns()));
      }
      last[parent] = i;
    }
    for (std::size_t i = 0; i < thread.size(); ++i) {
      if (last[i] < thread.size()) {
        after.push_back(static_cast<double>(thread[i].end_ns() - thread[last[i]].end_ns()));
      }
    }
  }
  return {cheapest_fifth(std::move(before), kMostBeforeNs),
          cheapest_fifth(std::move(after), kMostAfterNs)};
}

class Observer {
 public:
  explicit Observer(const Profile& profile) : threads_(threads_of(profile)) {
    cost_ = cost_of(threads_);
    for (const KinetoEvent& event : profile.events) {
      if (is_device_work(event) && event.correlation >= 0) {
        on_device_.insert(event.correlation);
      }
    }
  }

  OverheadSamples observe() {
    for (const Thread& thread : threads_) {
      std::optional<std::size_t> before;
      for (std::size_t i = 0; i < thread.size(); ++i) {
        if (is_outermost(thread, i)) {
          add_gap(thread, before, i);
          add_operator(thread, i);
          before = i;
        }
      }
    }
    return std::move(samples_);
  }

  [[nodiscard]] const ObserverCost& cost() const { return cost_; }

 private:
  /// Whether no other operator is around it.
  static bool is_outermost(const Thread& thread, std::size_t i) {
    if (thread[i].event->category != KinetoCategory::kCpuOp) {
      return false;
    }
    for (std::size_t at = i; thread[at].parent != at;) {
      at = thread[at].parent;
      if (thread[at].event->category == KinetoCategory::kCpuOp) {
        return false;
      }
    }
    return true;
  }

  /// The time from `begin_ns` to `end_ns` without the cost of recording `events` events in between,
  /// and without the halves of the events at its edges.
  [[nodiscard]] double net(std::int64_t begin_ns, std::int64_t end_ns, std::size_t events,
                           double edges_ns) const {
    const double observed = static_cast<double>(events) * cost_.total_ns() + edges_ns;
    return std::max(0.0, static_cast<double>(end_ns - begin_ns) - observed);
  }

  void add_gap(const Thread& thread, std::optional<std::size_t> before, std::size_t i) {
    const auto around = [&](std::size_t of) {
      return thread[of].parent == of ? nullptr : thread[thread[of].parent].event;
    };
    if (!before || around(*before) != around(i)) {
      return;
    }
    // Annotations between two operators belong to the program.
    const std::size_t between = i - thread[*before].end_position;
    const double gap_ns =
        net(thread[*before].end_ns(), thread[i].start_ns(), between, cost_.total_ns());
    if (between == 0 && gap_ns < kMostGapNs) {
      samples_.t1_ns.push_back(gap_ns);
    }
  }

  void add_operator(const Thread& thread, std::size_t i) {
    const HostSpan& span = thread[i];
    const std::string name(span.event->name);
    std::vector<std::size_t> launches;
    for (std::size_t at = i + 1; at < span.end_position; ++at) {
      const KinetoEvent& event = *thread[at].event;
      if (event.category == KinetoCategory::kRuntime && on_device_.contains(event.correlation)) {
        launches.push_back(at);
      }
    }
    OverheadSamples::OfOperator& of_operator = samples_.operators[name];
    std::vector<std::string> kinds;
    for (const std::size_t launch : launches) {
      kinds.emplace_back(thread[launch].event->name);
    }
    ++of_operator.launches[std::move(kinds)];
    if (launches.empty()) {
      const std::size_t events = span.end_position - i - 1;
      of_operator.unlaunched_ns.push_back(net(span.start_ns(), span.end_ns(), events, 0));
      return;
    }
    add_launches(thread, i, launches, of_operator);
  }

  void add_launches(const Thread& thread, std::size_t i, const std::vector<std::size_t>& launches,
                    OverheadSamples::OfOperator& of_operator) {
    const HostSpan& span = thread[i];
    const HostSpan& first = thread[launches.front()];
    of_operator.t2_ns.push_back(
        net(span.start_ns(), first.start_ns(), launches.front() - i - 1, cost_.before_ns));
    for (std::size_t k = 0; k < launches.size(); ++k) {
      const HostSpan& launch = thread[launches[k]];
      samples_.t4_ns[std::string(launch.event->name)].push_back(
          static_cast<double>(launch.event->dur_ns));
      if (k > 0) {
        const HostSpan& before = thread[launches[k - 1]];
        of_operator.t5_ns.push_back(net(before.end_ns(), launch.start_ns(),
                                        launches[k] - launches[k - 1] - 1, cost_.total_ns()));
      }
    }
    const std::size_t trailing = span.end_position - launches.back() - 1;
    of_operator.t3_ns.push_back(
        net(thread[launches.back()].end_ns(), span.end_ns(), trailing, cost_.after_ns));
  }

  std::vector<Thread> threads_;
  ObserverCost cost_;
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
    samples.t1_ns.push_back(gap_ns);
  }
  if (ran_on_device) {
    OverheadSamples::OfOperator& of_operator = samples.operators[instruction.name];
    ++of_operator.launches[std::vector<std::string>(timing.launches)];
    (timing.launches == 0 ? of_operator.unlaunched_ns : of_operator.whole_ns)
        .push_back(static_cast<double>(std::max<std::int64_t>(0, timing.host_ns)));
  }
}

}  // namespace

ObserverCost observer_cost(const et_schema::Profile& profile) {
  return Observer(profile).cost();
}

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
