#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/calibrator/design/halton.h"
#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {

/// Limits of a single call, so that a calibration gets to all operators.
struct CallLimits {
  std::int64_t bytes = std::int64_t{96} << 20U;  ///< of arguments and results
  double work = 1.2e9;                           ///< multiplications
  double float32 = 0.8;                          ///< share of the calls
  double bfloat16 = 0.13;                        ///< likewise; float64 has the rest
};

/// The same for a GPU.
inline constexpr CallLimits kGpuLimits{std::int64_t{2} << 30U, 4e11, 0.45, 0.5};

/// A point of an area: a call, and its coordinates, for the learner.
struct DesignPoint {
  Call call;
  /// ln of the bytes, ln of 1 + the work, then the design's coordinates, each in [0, 1).
  std::vector<double> features;
};

/// One operator's calls, as a sequence that fills the space of its shapes: dimensions by their
/// logarithms, element type (on a CPU four in five are float32), layout, zeros, skew of indices. Of
/// the points a third keep the drawn sizes, a third have multiples of 8, a third powers of 2, as
/// models have.
class Area {
 public:
  /// `seed`: areas of other seeds begin at other points.
  Area(const Recipe& recipe, CallLimits limits, std::uint64_t seed = 0);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// "matmul": et_schema::op_class.
  [[nodiscard]] const std::string& op_class() const { return op_class_; }
  [[nodiscard]] double weight() const { return recipe_.weight; }
  /// Point number `index`; none if it is beyond the limits, or not a valid call.
  [[nodiscard]] std::optional<DesignPoint> at(std::uint64_t index) const;

 private:
  Recipe recipe_;
  CallLimits limits_;
  std::string name_;
  std::string op_class_;
  std::vector<Dimension> dimensions_;
  Halton halton_;
};

/// The areas of all recipes; of one class only where it is not empty.
[[nodiscard]] std::vector<Area> make_areas(const std::string& only_class, CallLimits limits);
/// The classes that areas are of, in order.
[[nodiscard]] std::vector<std::string> area_classes();

}  // namespace understudy::calibrator
