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

/// When an area is done.
struct SweepLimits {
  double budget_s = 600;  ///< of all areas together
  double error = 0.05;    ///< mean relative error of the last kJudged predictions
  std::size_t most_points = 2000;
};

/// Why no more of an area's calls are measured.
enum class AreaEnd : std::uint8_t {
  kOpen,
  kError,       ///< predictions are good enough
  kPoints,      ///< as many as there may be
  kExhausted,   ///< there are no further different calls
  kRefused,     ///< the first calls did not run
  kBudget,      ///< the time of all areas is over
  kInterrupted  ///< by the user
};
[[nodiscard]] std::string_view to_string(AreaEnd end);

/// The outcome of an area.
struct AreaResult {
  std::string name;
  std::string op_class;
  std::size_t points = 0;
  std::size_t refused = 0;      ///< calls that the operator did not take
  std::optional<double> error;  ///< of held-out predictions; none: too few points
  double spent_s = 0;
  AreaEnd end = AreaEnd::kOpen;
};

/// The interface of a sweep to its caller.
struct SweepHooks {
  std::function<double()> now_s;
  /// Times a call: nanoseconds, or none where it does not run.
  std::function<std::optional<double>(const DesignPoint&)> measure;
  std::function<bool()> is_interrupted = [] { return false; };
  /// Points so far, the area at hand, seconds left.
  std::function<void(std::size_t, const std::string&, double)> progress =
      [](std::size_t, const std::string&, double) {};
};

/// Predictions that an area's error is the mean of.
inline constexpr std::size_t kJudged = 12;
/// Refused calls at its start that end an area.
inline constexpr std::size_t kMostRefused = 6;

/// Measures the points of areas until each is known well enough or the time is over. The next point
/// is of the area with the least time for its weight. Results are in the order of the areas.
[[nodiscard]] std::vector<AreaResult> run_sweep(std::vector<Area> areas, const SweepLimits& limits,
                                                const SweepHooks& hooks);

}  // namespace understudy::calibrator
