#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "predictor/fitting/errors.h"
#include "predictor/operators/call_model.h"

namespace understudy::predictor {

/// conformal_width() of too few residuals for a quantile is this much more than the largest.
inline constexpr double kOfTooFew = 1.5;

/// The range of bounds and sizes that a model was fitted to.
struct Range {
  std::array<float, kSizes + 1> low{}, high{};  ///< ln of the bound, then the four sizes
  [[nodiscard]] static Range of(const Samples& samples);
  /// Returns true if a value is outside by more than 20 %.
  [[nodiscard]] bool excludes(const Point& point) const;
  /// Returns ln of the ratio by which the bound is above the range, below 0 if it is below; 0
  /// inside.
  [[nodiscard]] double ln_beyond(const Point& point) const;
  bool operator==(const Range&) const = default;
};

/// The best model of a group of calls.
struct FittedModel {
  CallModel model;
  Errors errors;            ///< in cross-validation
  double width = 0;         ///< ln: the interval is [time / e^width, time * e^width]
  double width_beyond = 0;  ///< the same outside of the range
  /// Fastest row's time / the specification's minimum, at most 1: measurements override data
  /// sheets.
  double least_share = 1;
  Range range;
  std::size_t rows = 0;
  std::vector<std::string> operators;  ///< ordered by name
  /// Returns ln of nanoseconds. On a device, calls with less work than any of the rows take less as
  /// far as it is less, down to a launch.
  [[nodiscard]] double ln_ns(const Point& point, TimedAs timed,
                             const Leaned* leaned = nullptr) const;
  /// Returns the width of the interval. `width_beyond` comes from the largest tenth of the samples
  /// and holds up to ten times the range; farther outside it grows with ln of the distance. Outside
  /// of what other cards measured, it is at least theirs.
  [[nodiscard]] double width_at(const Point& point, const Leaned* leaned = nullptr) const;
  [[nodiscard]] bool excludes(const Point& point, const Leaned* leaned = nullptr) const {
    return leaned != nullptr ? leaned->is_extrapolated : range.excludes(point);
  }
};

struct FitOptions {
  TreeOptions trees = {};
  std::size_t folds = 4;
  double least_ns = 0;  ///< lower bound of predictions
};

/// Cross-validates the candidates (equal shapes stay in one fold), keeps the one with the smallest
/// mean error, and calibrates its intervals. kOtherCards competes if all samples have `leaned`. The
/// width comes from the folds; beyond the range it is 1.5 times the error with which a fit to the
/// smaller nine tenths predicts the largest tenth.
[[nodiscard]] FittedModel fit_best(const Samples& samples, const FitOptions& options);

}  // namespace understudy::predictor
