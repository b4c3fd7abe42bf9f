#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {

/// Limits of a single call, so that a calibration reaches all operators in its time.
struct CallLimits {
  std::int64_t bytes = std::int64_t{96} << 20U;  ///< of arguments and results
  double work = 1.2e9;                           ///< multiplications
  double float32 = 0.8;                          ///< share of the calls
  double bfloat16 = 0.13;                        ///< share of the calls; the rest are float64
};

/// Limits on a GPU.
inline constexpr CallLimits kGpuLimits{std::int64_t{2} << 30U, 4e11, 0.45, 0.5};

/// One operator's calls, as a sequence of points that fill a space evenly. Its coordinates are the
/// logarithms of the dimensions, element type (on a CPU four in five are float32), layout, zeros,
/// and skew of indices. In a third of the points sizes are multiples of 8, in a third powers of 2,
/// as in models; the others keep the drawn sizes.
class Area {
 public:
  /// Areas with different seeds begin at different points.
  Area(const Recipe& recipe, CallLimits limits, std::uint64_t seed = 0);

  /// Returns the number of calls in a round.
  [[nodiscard]] int calls() const { return recipe_.calls; }
  /// Returns the call of point `index`; nothing if it exceeds the limits or is not valid.
  [[nodiscard]] std::optional<Call> at(std::uint64_t index) const;
  /// Returns the next call that differs from those before; nothing if there is none.
  [[nodiscard]] std::optional<Call> next();

 private:
  Recipe recipe_;
  CallLimits limits_;
  std::vector<Dimension> dimensions_;
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
  std::set<std::string> seen_;  ///< the texts of calls
};

/// Makes the areas of all recipes, or of one class unless `only_class` is empty.
[[nodiscard]] std::vector<Area> make_areas(const std::string& only_class, CallLimits limits);
/// Returns the classes of all areas, in order.
[[nodiscard]] std::vector<std::string> area_classes();

}  // namespace understudy::calibrator
