#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "comparer/run.h"
#include "et_schema/model/op_class.h"
#include "et_schema/support/error.h"

namespace understudy::comparer {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

constexpr double kNsPerMs = 1e6;

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

Interval interval_of(const KinetoEvent& event) {
  return {event.ts_ns, event.ts_ns + event.dur_ns};
}

/// Whether the event is an operator. Under cpu_op, Kineto also has the wrappers of autograd
/// ("autograd::engine::evaluate_function: MulBackward0", "MulBackward0",
/// "torch::autograd::AccumulateGrad") and plain names ("detach").
bool is_operator(const KinetoEvent& event) {
  return event.category == KinetoCategory::kCpuOp &&
         event.name.find("::") != std::string_view::npos &&
         event.name.find("autograd::") == std::string_view::npos;
}

std::string class_of(std::string_view name) {
  return name.starts_with("c10d::") ? "communication" : std::string(et_schema::op_class(name));
}

/// The steps in order of time; without marks, all operators together are one step.
std::vector<Interval> steps_of(const Profile& profile) {
  std::vector<Interval> steps;
  std::optional<Interval> all;
  for (const KinetoEvent& event : profile.events) {
    const Interval interval = interval_of(event);
    if (event.category == KinetoCategory::kUserAnnotation &&
        event.name.starts_with("ProfilerStep#")) {
      steps.push_back(interval);
    } else if (is_operator(event)) {
      all = all ? Interval{std::min(all->begin_ns, interval.begin_ns),
                           std::max(all->end_ns, interval.end_ns)}
                : interval;
    }
  }
  if (steps.empty() && all) {
    steps.push_back(*all);
  }
  std::ranges::sort(steps, {}, &Interval::begin_ns);
  return steps;
}

struct Call {
  const KinetoEvent* event = nullptr;
  std::vector<std::size_t> children;
  std::optional<std::size_t> parent = {};
  bool holds_known = false;    ///< it, or an operator below it, has one of the known names
  std::int64_t device_ns = 0;  ///< Σ duration of the device work that it and all below it launched
};

/// Assigns each device event to the innermost operator around its launch: correlation → call.
void add_device_times(const Profile& profile, std::vector<Call>& calls) {
  std::map<std::int64_t, const KinetoEvent*> launches;
  for (const KinetoEvent& event : profile.events) {
    if (event.category == KinetoCategory::kRuntime && event.correlation > 0) {
      launches.try_emplace(event.correlation, &event);
    }
  }
  const auto place = [](const KinetoEvent& event) {
    return std::tuple(event.pid, event.tid, event.ts_ns);
  };
  for (const KinetoEvent& event : profile.events) {
    const auto launch = launches.find(is_device_work(event) ? event.correlation : 0);
    if (launch == launches.end()) {
      continue;
    }
    const KinetoEvent& at = *launch->second;
    const auto after = std::ranges::upper_bound(
        calls, place(at), {}, [&place](const Call& call) { return place(*call.event); });
    std::optional<std::size_t> around;
    if (after != calls.begin()) {
      around = static_cast<std::size_t>(after - calls.begin()) - 1;
    }
    const auto is_around = [&at](const KinetoEvent& call) {
      return call.pid == at.pid && call.tid == at.tid && at.ts_ns < interval_of(call).end_ns;
    };
    while (around && !is_around(*calls[*around].event)) {
      around = calls[*around].parent;
    }
    if (around) {
      calls[*around].device_ns += std::max<std::int64_t>(event.dur_ns, 0);
    }
  }
  for (std::size_t i = calls.size(); i-- > 0;) {
    if (calls[i].parent) {
      calls[*calls[i].parent].device_ns += calls[i].device_ns;
    }
  }
}

/// The operators' calls of all threads as trees, by their intervals; callers come before callees.
std::vector<Call> call_trees(const Profile& profile, const std::set<std::string>& known) {
  std::vector<Call> calls;
  for (const KinetoEvent& event : profile.events) {
    if (is_operator(event)) {
      calls.push_back({.event = &event, .children = {}});
    }
  }
  std::ranges::stable_sort(calls, {}, [](const Call& call) {
    return std::tuple(call.event->pid, call.event->tid, call.event->ts_ns, -call.event->dur_ns);
  });
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const KinetoEvent& event = *calls[i].event;
    const auto is_over = [&](const KinetoEvent& other) {
      return other.pid != event.pid || other.tid != event.tid ||
             interval_of(other).end_ns <= event.ts_ns;
    };
    while (!open.empty() && is_over(*calls[open.back()].event)) {
      open.pop_back();
    }
    if (!open.empty()) {
      calls[open.back()].children.push_back(i);
      calls[i].parent = open.back();
    }
    open.push_back(i);
  }
  add_device_times(profile, calls);
  for (std::size_t i = calls.size(); i-- > 0;) {
    Call& call = calls[i];
    call.holds_known = known.contains(std::string(call.event->name)) ||
                       std::ranges::any_of(call.children, [&](std::size_t child) {
                         return calls[child].holds_known;
                       });
  }
  return calls;
}

/// Length of the part of a step that no interval covers. Sorts the intervals.
double uncovered_ms(const Interval& step, std::vector<Interval>& intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin_ns);
  std::int64_t free_ns = 0;
  std::int64_t at = step.begin_ns;
  for (const Interval& interval : intervals) {
    free_ns += std::max<std::int64_t>(0, std::min(interval.begin_ns, step.end_ns) - at);
    at = std::max(at, std::min(interval.end_ns, step.end_ns));
  }
  return static_cast<double>(free_ns + step.end_ns - at) / kNsPerMs;
}

class ProfileRows {
 public:
  ProfileRows(const Profile& profile, const std::set<std::string>& known)
      : known_(known),
        steps_(steps_of(profile)),
        calls_(call_trees(profile, known)),
        covered_(steps_.size()) {}

  std::vector<Series> rows() {
    for (const Call& call : calls_) {
      const std::optional<std::size_t> step = call.parent ? std::nullopt : step_of(*call.event);
      if (step) {
        covered_[*step].push_back(interval_of(*call.event));
        add(call, *step);
      }
    }
    Series iteration{RowKind::kIteration, "", "", 0, {}};
    Series gap{RowKind::kGap, "", "", 0, {}};
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Interval& step = steps_[i];
      iteration.samples_ms.push_back(static_cast<double>(step.end_ns - step.begin_ns) / kNsPerMs);
      gap.samples_ms.push_back(uncovered_ms(step, covered_[i]));
    }
    std::vector<Series> rows = {std::move(iteration), std::move(gap)};
    std::erase_if(on_device_, [](const auto& row) {
      return std::ranges::all_of(row.second.samples_ms, [](double ms) { return ms == 0; });
    });
    for (auto* table : {&classes_, &operators_, &on_device_}) {
      for (auto& [name, row] : *table) {
        row.count /= steps_.size();
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

  [[nodiscard]] bool is_empty() const { return operators_.empty(); }

 private:
  [[nodiscard]] std::optional<std::size_t> step_of(const KinetoEvent& event) const {
    const auto after = std::ranges::upper_bound(steps_, event.ts_ns, {}, &Interval::begin_ns);
    if (after == steps_.begin() || event.ts_ns >= std::prev(after)->end_ns) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(std::prev(after) - steps_.begin());
  }

  void add(const Call& call, std::size_t step) {
    std::int64_t own_ns = call.event->dur_ns;
    std::int64_t device_ns = call.device_ns;
    const std::string name(call.event->name);
    if (call.holds_known && !known_.contains(name)) {
      for (const std::size_t child : call.children) {
        own_ns -= calls_[child].event->dur_ns;
        device_ns -= calls_[child].device_ns;
        add(calls_[child], step);
      }
    }
    const double ms = static_cast<double>(std::max<std::int64_t>(own_ns, 0)) / kNsPerMs;
    add({RowKind::kOperator, name, class_of(name), 1, {}}, operators_[name], step, ms);
    add({RowKind::kOnDevice, name, class_of(name), 1, {}}, on_device_[name], step,
        static_cast<double>(device_ns) / kNsPerMs);
    add({RowKind::kClass, class_of(name), "", 1, {}}, classes_[class_of(name)], step, ms);
  }

  void add(const Series& row, Series& sum, std::size_t step, double ms) {
    if (sum.samples_ms.empty()) {
      sum = row;
      sum.count = 0;
      sum.samples_ms.assign(steps_.size(), 0.0);
    }
    ++sum.count;
    sum.samples_ms[step] += ms;
  }

  const std::set<std::string>& known_;
  std::vector<Interval> steps_;
  std::vector<Call> calls_;
  std::vector<std::vector<Interval>> covered_;  ///< by step: the intervals that operators cover
  std::map<std::string, Series> classes_;
  std::map<std::string, Series> operators_;
  std::map<std::string, Series> on_device_;
};

}  // namespace

Run run_of(const Profile& profile, const std::set<std::string>& known) {
  ProfileRows table(profile, known);
  Run run;
  run.file = profile.file;
  run.is_profile = true;
  run.pace = "original";
  if (profile.distributed) {
    run.world_size = static_cast<int>(profile.distributed->world_size);
  }
  run.rows = table.rows();
  if (table.is_empty()) {
    throw et_schema::bad_input("a profile without operators",
                               {.file = profile.file,
                                .field = "traceEvents",
                                .expected = "events of the category cpu_op within a step",
                                .got = fmt::format("none among {} events", profile.events.size()),
                                .hint = "profile with ProfilerActivity.CPU"});
  }
  return run;
}

}  // namespace understudy::comparer
