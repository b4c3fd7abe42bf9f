#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/calibrator/design/area.h"

namespace understudy::calibrator {

/// Conditions that end the measuring of an area.
struct SweepLimits {
  double budget_s = 600;  ///< time of all areas together
  double error = 0.05;    ///< mean relative error of the last kJudged predictions
  std::size_t most_points = 2000;
};

/// Reason why an area has ended.
enum class AreaEnd : std::uint8_t {
  kOpen,
  kError,       ///< predictions are good enough
  kPoints,      ///< the largest number of points is reached
  kExhausted,   ///< no different calls are left
  kRefused,     ///< the first calls failed
  kBudget,      ///< the time budget of all areas is spent
  kInterrupted  ///< the user interrupted the sweep
};
[[nodiscard]] std::string_view to_string(AreaEnd end);

/// The outcome of an area.
struct AreaResult {
  std::string name;
  std::string op_class;
  std::size_t points = 0;
  std::size_t refused = 0;      ///< calls that failed
  std::optional<double> error;  ///< of held-out predictions; empty: too few points
  double spent_s = 0;
  AreaEnd end = AreaEnd::kOpen;
};

/// The interface of a sweep to its caller.
struct SweepHooks {
  std::function<double()> now_s;
  /// Times a call; returns nanoseconds, or nothing if the call fails.
  std::function<std::optional<double>(const DesignPoint&)> measure;
  std::function<bool()> is_interrupted = [] { return false; };
  /// Reports the points so far, the current area, and the seconds left.
  std::function<void(std::size_t, const std::string&, double)> progress =
      [](std::size_t, const std::string&, double) {};
};

/// Number of the last predictions whose mean error is an area's error.
inline constexpr std::size_t kJudged = 12;
/// Number of failed calls at the start of an area that ends it.
inline constexpr std::size_t kMostRefused = 6;

/// Measures the points of areas until each is known well enough or the budget is spent. The next
/// point is always from the area with the least time spent relative to its weight. Results are in
/// the order of the areas.
[[nodiscard]] std::vector<AreaResult> run_sweep(std::vector<Area> areas, const SweepLimits& limits,
                                                const SweepHooks& hooks);

}  // namespace understudy::calibrator
