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

  [[nodiscard]] Layout lay_out() const {
    const std::vector<Interval> intervals = intervals_between_starts();
    const double share = share_of_skew(intervals);
    Layout layout;
    for (const Interval& interval : intervals) {
      const double above =
          static_cast<double>(interval.mean_ns) - static_cast<double>(interval.median_ns);
      const std::int64_t passed =
          add_times(interval.median_ns, std::llround(std::clamp(share * above, -kMostNs, kMostNs)));
      layout.step_ns = std::max<std::int64_t>(add_times(layout.step_ns, passed), 0);
      if (interval.position) {
        layout.starts.emplace_back(*interval.position, layout.step_ns);
      }
    }
    return layout;
  }

 private:
  static constexpr double kMostNs = 1e18;

  /// From one start to the next, over the steps; the last one to the step's end.
  struct Interval {
    std::optional<std::size_t> position;  ///< in JoinNodes, of what begins at its end
    std::int64_t median_ns = 0;
    std::int64_t mean_ns = 0;
  };

  [[nodiscard]] std::vector<Interval> intervals_between_starts() const {
    std::vector<std::int64_t> last;  // starts, by step
    for (const JoinedStep& step : join_.steps) {
      last.push_back(begin_ns(step));
    }
    std::vector<Interval> intervals;
    std::vector<std::int64_t> passed;
    for (const std::size_t i : order_of_starts(last)) {
      passed.clear();
      for (std::size_t s = 0; s < join_.steps.size(); ++s) {
        if (join_.steps[s].event_of[i] != kNoEvent) {
          const std::int64_t start = host_.events[join_.steps[s].event_of[i]].start_ns;
          passed.push_back(start - last[s]);
          last[s] = start;
        }
      }
      intervals.push_back({i, median(passed), mean(passed)});
    }
    passed.clear();
    for (std::size_t s = 0; s < join_.steps.size(); ++s) {
      passed.push_back(end_ns(join_.steps[s]) - last[s]);
    }
    intervals.push_back({std::nullopt, median(passed), mean(passed)});
    return intervals;
  }

  /// From 0 to 1.
  [[nodiscard]] double share_of_skew(const std::vector<Interval>& intervals) const {
    std::vector<std::int64_t> steps;
    for (const JoinedStep& step : join_.steps) {
      steps.push_back(end_ns(step) - begin_ns(step));
    }
    double medians = 0;
    double means = 0;
    for (const Interval& interval : intervals) {
      medians += static_cast<double>(interval.median_ns);
      means += static_cast<double>(interval.mean_ns);
    }
    const double missing = static_cast<double>(median(steps)) - medians;
    return missing > 0 && means > medians ? std::min(missing / (means - medians), 1.0) : 0;
  }

  /// Joined nodes in the order in which the steps began them: by the median of their starts.
  [[nodiscard]] std::vector<std::size_t> order_of_starts(
      const std::vector<std::int64_t>& begins) const {
    std::vector<std::pair<std::int64_t, std::size_t>> starts;
    std::vector<std::int64_t> of_node;
    for (std::size_t i = 0; i < positions(); ++i) {
      of_node.clear();
      for (std::size_t s = 0; s < join_.steps.size(); ++s) {
        if (join_.steps[s].event_of[i] != kNoEvent) {
          of_node.push_back(host_.events[join_.steps[s].event_of[i]].start_ns - begins[s]);
        }
      }
      if (!of_node.empty()) {
        starts.emplace_back(median(of_node), i);
      }
    }
    std::ranges::sort(starts);
    std::vector<std::size_t> order;
    std::ranges::transform(starts, std::back_inserter(order),
                           &decltype(starts)::value_type::second);
    return order;
  }

  [[nodiscard]] std::int64_t begin_ns(const JoinedStep& step) const {
    if (step.span.mark != kNoEvent) {
      return host_.events[step.span.mark].start_ns;
    }
    std::optional<std::int64_t> first;
    for (const HostIndex event : step.event_of) {
      if (event != kNoEvent) {
        first =
            std::min(first.value_or(host_.events[event].start_ns), host_.events[event].start_ns);
      }
    }
    return first.value_or(0);
  }

  [[nodiscard]] std::int64_t end_ns(const JoinedStep& step) const {
    if (step.span.mark != kNoEvent) {
      return host_.events[step.span.mark].end_ns;
    }
    std::int64_t last = 0;
    for (const HostIndex event : step.event_of) {
      last = event == kNoEvent ? last : std::max(last, host_.events[event].end_ns);
    }
    return last;
  }

  [[nodiscard]] std::size_t positions() const {
    return join_.steps.empty() ? 0 : join_.steps.front().event_of.size();
  }

  const Join& join_;
  const HostEvents& host_;
};

}  // namespace

Layout lay_out(const Join& join, const HostEvents& host) {
  return Layouter(join, host).lay_out();
}

}  // namespace understudy::generator
