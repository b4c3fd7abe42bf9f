#include "layout.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "statistics.h"

namespace understudy::generator {
namespace {

class Layouter {
 public:
  Layouter(const Join& join, const HostEvents& host) : join_(join), host_(host) {}

  [[nodiscard]] Layout lay_out() {
    lay_out_common();
    if (layout_.starts.size() < positions()) {
      place_others();
      std::ranges::stable_sort(layout_.starts, {}, &Start::second);
    }
    return std::move(layout_);
  }

 private:
  static constexpr double kMostNs = 1e18;
  using Start = decltype(Layout::starts)::value_type;

  /// The time from one start to the next, over the steps; the last one ends with the step.
  struct Interval {
    /// Position in JoinNodes of the node that begins at the interval's end.
    std::optional<std::size_t> position;
    std::int64_t median_ns = 0;
    std::int64_t mean_ns = 0;
  };

  /// Places the nodes that all steps have.
  void lay_out_common() {
    const std::vector<Interval> intervals = intervals_between_starts();
    const double share = share_of_skew(intervals);
    std::vector<double> passed;
    double whole = 0;
    for (const Interval& interval : intervals) {
      const double above =
          static_cast<double>(interval.mean_ns) - static_cast<double>(interval.median_ns);
      passed.push_back(
          std::clamp(static_cast<double>(interval.median_ns) + share * above, 0.0, kMostNs));
      whole += passed.back();
    }
    const auto typical = static_cast<double>(median_step_ns());
    const double scale = whole > typical ? typical / whole : 1;
    double now = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      now = std::min(now + scale * passed[i], kMostNs);
      if (intervals[i].position) {
        layout_.starts.emplace_back(*intervals[i].position, std::llround(now));
      }
    }
    layout_.step_ns = std::llround(now);
  }

  /// Places the nodes that only some steps have, by interpolation between the common nodes around
  /// them.
  void place_others() {
    std::vector<StepClock> clocks;
    for (const JoinedStep& step : join_.steps) {
      clocks.emplace_back(layout_, step, host_);
    }
    std::vector<std::int64_t> of_node;
    for (std::size_t i = 0; i < positions(); ++i) {
      of_node.clear();
      for (std::size_t s = 0; s < join_.steps.size(); ++s) {
        const HostIndex event = join_.steps[s].event_of[i];
        if (event != kNoEvent) {
          of_node.push_back(clocks[s].typical(host_.events[event].start_ns));
        }
      }
      if (!of_node.empty() && of_node.size() < join_.steps.size()) {
        layout_.starts.emplace_back(i, median(of_node));
      }
    }
  }

  [[nodiscard]] std::vector<Interval> intervals_between_starts() const {
    std::vector<std::int64_t> last;  // starts, by step
    for (const JoinedStep& step : join_.steps) {
      last.push_back(step.begin_ns(host_));
    }
    std::vector<Interval> intervals;
    std::vector<std::int64_t> passed(join_.steps.size());
    for (const std::size_t i : order_of_starts(last)) {
      for (std::size_t s = 0; s < join_.steps.size(); ++s) {
        const std::int64_t start = host_.events[join_.steps[s].event_of[i]].start_ns;
        passed[s] = start - std::exchange(last[s], start);
      }
      intervals.push_back({i, median(passed), mean(passed)});
    }
    for (std::size_t s = 0; s < join_.steps.size(); ++s) {
      passed[s] = join_.steps[s].end_ns(host_) - last[s];
    }
    intervals.push_back({std::nullopt, median(passed), mean(passed)});
    return intervals;
  }

  [[nodiscard]] std::int64_t median_step_ns() const {
    std::vector<std::int64_t> steps;
    for (const JoinedStep& step : join_.steps) {
      steps.push_back(step.end_ns(host_) - step.begin_ns(host_));
    }
    return median(steps);
  }

  /// Returns the share, from 0 to 1, of the difference between mean and median that intervals get.
  [[nodiscard]] double share_of_skew(const std::vector<Interval>& intervals) const {
    double medians = 0;
    double means = 0;
    for (const Interval& interval : intervals) {
      medians += static_cast<double>(interval.median_ns);
      means += static_cast<double>(interval.mean_ns);
    }
    const double missing = static_cast<double>(median_step_ns()) - medians;
    return missing > 0 && means > medians ? std::min(missing / (means - medians), 1.0) : 0;
  }

  /// Returns the nodes that all steps have, ordered by the median of their starts.
  [[nodiscard]] std::vector<std::size_t> order_of_starts(
      const std::vector<std::int64_t>& begins) const {
    std::vector<std::pair<std::int64_t, std::size_t>> starts;
    std::vector<std::int64_t> of_node(join_.steps.size());
    for (std::size_t i = 0; i < positions(); ++i) {
      if (std::ranges::any_of(
              join_.steps, [i](const JoinedStep& step) { return step.event_of[i] == kNoEvent; })) {
        continue;
      }
      for (std::size_t s = 0; s < join_.steps.size(); ++s) {
        of_node[s] = host_.events[join_.steps[s].event_of[i]].start_ns - begins[s];
      }
      starts.emplace_back(median(of_node), i);
    }
    if (!std::ranges::is_sorted(starts)) {
      std::ranges::sort(starts);
    }
    std::vector<std::size_t> order;
    std::ranges::transform(starts, std::back_inserter(order),
                           &decltype(starts)::value_type::second);
    return order;
  }

  [[nodiscard]] std::size_t positions() const {
    return join_.steps.empty() ? 0 : join_.steps.front().event_of.size();
  }

  const Join& join_;
  const HostEvents& host_;
  Layout layout_;
};

}  // namespace

StepClock::StepClock(const Layout& layout, const JoinedStep& step, const HostEvents& host)
    : moments_{{step.begin_ns(host), 0}, {step.end_ns(host), layout.step_ns}} {
  for (const auto& [position, start_ns] : layout.starts) {
    if (step.event_of[position] != kNoEvent) {
      moments_.push_back({host.events[step.event_of[position]].start_ns, start_ns});
    }
  }
  std::ranges::stable_sort(moments_, {}, &Moment::seen_ns);
}

std::int64_t StepClock::typical(std::int64_t seen_ns) const {
  const auto after = std::ranges::upper_bound(moments_, seen_ns, {}, &Moment::seen_ns);
  if (after == moments_.begin() || after == moments_.end()) {
    return after == moments_.begin() ? after->typical_ns : moments_.back().typical_ns;
  }
  const auto before = std::prev(after);
  const double share = static_cast<double>(seen_ns - before->seen_ns) /
                       static_cast<double>(after->seen_ns - before->seen_ns);
  const auto between = static_cast<double>(after->typical_ns - before->typical_ns);
  return std::clamp<std::int64_t>(before->typical_ns + std::llround(share * between), 0, kLatestNs);
}

Layout lay_out(const Join& join, const HostEvents& host) {
  return Layouter(join, host).lay_out();
}

}  // namespace understudy::generator
