#include "replayer/calibrator/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <set>
#include <utility>

#include "et_schema/base/enum_names.h"
#include "replayer/calibrator/sweep/learner.h"

namespace understudy::calibrator {
namespace {

/// The progress of an area.
struct State {
  Area area;
  AreaResult result;
  Learner learner;
  std::deque<double> errors;
  std::set<std::string> seen;
  std::uint64_t next = 0;
};

class Sweep {
 public:
  Sweep(std::vector<Area> areas, const SweepLimits& limits, const SweepHooks& hooks)
      : limits_(limits), hooks_(hooks) {
    for (Area& area : areas) {
      AreaResult result;
      result.name = area.name();
      result.op_class = area.op_class();
      states_.push_back({std::move(area), std::move(result), {}, {}, {}, 0});
    }
  }

  std::vector<AreaResult> run() {
    const double begin_s = hooks_.now_s();
    AreaEnd end = AreaEnd::kBudget;
    std::size_t points = 0;
    while (State* const state = choose()) {
      const double left_s = limits_.budget_s - (hooks_.now_s() - begin_s);
      if (hooks_.is_interrupted()) {
        end = AreaEnd::kInterrupted;
        break;
      }
      if (left_s <= 0) {
        break;
      }
      hooks_.progress(points++, state->result.name, left_s);
      measure_next(*state);
    }
    std::vector<AreaResult> results;
    for (State& state : states_) {
      if (state.result.end == AreaEnd::kOpen) {
        state.result.end = end;
      }
      results.push_back(std::move(state.result));
    }
    return results;
  }

 private:
  State* choose() {
    State* chosen = nullptr;
    for (State& state : states_) {
      const bool is_open = state.result.end == AreaEnd::kOpen;
      if (is_open && (chosen == nullptr || state.result.spent_s / state.area.weight() <
                                               chosen->result.spent_s / chosen->area.weight())) {
        chosen = &state;
      }
    }
    return chosen;
  }

  void measure_next(State& state) {
    const std::optional<DesignPoint> point = next_point(state);
    if (!point) {
      state.result.end = AreaEnd::kExhausted;
      return;
    }
    const double begin_s = hooks_.now_s();
    const std::optional<double> ns = hooks_.measure(*point);
    // Calls in the journal cost no time. Without a minimum, the first area would always be chosen.
    constexpr double kLeastSeconds = 1e-6;
    state.result.spent_s += std::max(hooks_.now_s() - begin_s, kLeastSeconds);
    if (ns) {
      learn(state, *point, *ns);
    } else {
      ++state.result.refused;
    }
    judge(state);
  }

  std::optional<DesignPoint> next_point(State& state) const {
    constexpr std::uint64_t kMostTries = 2000;
    for (std::uint64_t tries = 0; tries < kMostTries; ++tries) {
      std::optional<DesignPoint> point = state.area.at(state.next++);
      if (point && state.seen.insert(to_text(point->call)).second) {
        return point;
      }
    }
    return std::nullopt;
  }

  void learn(State& state, const DesignPoint& point, double ns) const {
    if (const std::optional<double> predicted = state.learner.predict(point.features)) {
      state.errors.push_back(std::abs(*predicted / ns - 1));
      if (state.errors.size() > kJudged) {
        state.errors.pop_front();
      }
    }
    state.learner.add(point.features, ns);
    ++state.result.points;
  }

  void judge(State& state) const {
    AreaResult& result = state.result;
    if (!state.errors.empty()) {
      result.error = std::accumulate(state.errors.begin(), state.errors.end(), 0.0) /
                     static_cast<double>(state.errors.size());
    }
    if (result.points == 0 && result.refused >= kMostRefused) {
      result.end = AreaEnd::kRefused;
    } else if (state.errors.size() == kJudged && *result.error <= limits_.error) {
      result.end = AreaEnd::kError;
    } else if (result.points >= limits_.most_points) {
      result.end = AreaEnd::kPoints;
    }
  }

  std::vector<State> states_;
  const SweepLimits& limits_;
  const SweepHooks& hooks_;
};

}  // namespace

std::string_view to_string(AreaEnd end) {
  return et_schema::EnumNames<AreaEnd::kInterrupted>("open", "error", "points", "exhausted",
                                                     "refused", "budget", "interrupted")[end];
}

std::vector<AreaResult> run_sweep(std::vector<Area> areas, const SweepLimits& limits,
                                  const SweepHooks& hooks) {
  return Sweep(std::move(areas), limits, hooks).run();
}

}  // namespace understudy::calibrator
