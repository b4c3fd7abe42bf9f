#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace understudy::fleet {

/// Where a series turned.
struct ChangePoint {
  std::size_t index = 0;  ///< the first figure that is another
  double before = 0;      ///< median of the level up to it
  double after = 0;       ///< and of that from it
  double p_value = 1;
};

struct ChangePointOptions {
  double max_p_value = 0.001;
  double min_magnitude = 0.03;  ///< the least relative change
  std::size_t window = 50;      ///< figures that one search looks at
  std::size_t least_level = 3;  ///< figures that a level has to last; shorter ones are outliers
};

/// Fewer figures show no change.
inline constexpr std::size_t kLeastFigures = 6;

/// The change points between levels that last and whose medians differ by `min_magnitude`; the last
/// level has to have lasted, too. Otava takes an outlier for two changes (docs/results/fleet.md has
/// rates). Sets `before` and `after`.
[[nodiscard]] std::vector<ChangePoint> lasting(std::vector<ChangePoint> points,
                                               const std::vector<double>& series,
                                               const ChangePointOptions& options);

/// Change points that last, by Apache Otava (E-divisive means in windows, Student's t-test), which
/// `python` has. One list a series. Throws Error (failed) where it cannot be run.
[[nodiscard]] std::vector<std::vector<ChangePoint>> change_points(
    const std::vector<std::vector<double>>& series, const std::string& python,
    const ChangePointOptions& options = {});

using ClassTimes = std::map<std::string, double>;  ///< ms of a night by class of operators
struct ClassChange {
  std::string name;
  double ms = 0;
};

/// The classes that a fifth or more of a change is in, the largest share first: the difference of
/// the medians of up to five nights on each side of the point.
[[nodiscard]] std::vector<ClassChange> class_changes(const std::vector<ClassTimes>& nights,
                                                     const ChangePoint& point);

/// Returns the Python that has Otava: .venv-fleet/bin/python in a folder above `program`. Empty if
/// there is none.
[[nodiscard]] std::string find_otava(const std::string& program);

}  // namespace understudy::fleet
