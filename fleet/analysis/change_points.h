#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace understudy::fleet {

/// A place at which a series changes its level.
struct ChangePoint {
  std::size_t index = 0;  ///< first value of the new level
  double before = 0;      ///< median of the level that ends here
  double after = 0;       ///< median of the level that starts here
  double p_value = 1;
};

struct ChangePointOptions {
  double max_p_value = 0.001;
  double min_magnitude = 0.03;  ///< smallest relative change that counts
  std::size_t window = 50;      ///< number of values in one search
  std::size_t least_level = 3;  ///< values that a level must last; shorter ones are outliers
};

/// A shorter series has no change points.
inline constexpr std::size_t kLeastFigures = 6;

/// Keeps the change points between levels that last and whose medians differ by at least
/// `min_magnitude`; the last level must last, too. Otava reports an outlier as two changes
/// (docs/results/fleet.md has rates). Sets `before` and `after`.
[[nodiscard]] std::vector<ChangePoint> lasting(std::vector<ChangePoint> points,
                                               const std::vector<double>& series,
                                               const ChangePointOptions& options);

/// Finds the change points that last, one list per series, by Apache Otava (E-divisive means in
/// windows, Student's t-test), which `python` must have. Throws Error (failed) if that cannot be
/// run.
[[nodiscard]] std::vector<std::vector<ChangePoint>> change_points(
    const std::vector<std::vector<double>>& series, const std::string& python,
    const ChangePointOptions& options = {});

using ClassTimes = std::map<std::string, double>;  ///< ms of one night, by operator class
struct ClassChange {
  std::string name;
  double ms = 0;
};

/// Returns the classes that cause a fifth or more of a change, the largest change first: the
/// difference of a class's medians over up to five nights on each side of the point.
[[nodiscard]] std::vector<ClassChange> class_changes(const std::vector<ClassTimes>& nights,
                                                     const ChangePoint& point);

/// Returns the Python that has Otava: .venv-fleet/bin/python of the clone. Empty if there is none.
[[nodiscard]] std::string find_otava();

}  // namespace understudy::fleet
