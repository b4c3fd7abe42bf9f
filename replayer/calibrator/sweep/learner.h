#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace understudy::calibrator {

/// A quick model of one area that decides whether more points are needed: a parabola in the
/// logarithms of bytes and work, corrected by the three nearest points. Each point is predicted
/// before it is learned, so the errors are held-out errors. Not part of a platform.
class Learner {
 public:
  /// Adds a point; `features` are DesignPoint::features.
  void add(const std::vector<double>& features, double ns);
  /// Returns the predicted nanoseconds; nothing if there are too few points.
  [[nodiscard]] std::optional<double> predict(const std::vector<double>& features) const;
  [[nodiscard]] std::size_t size() const { return points_.size(); }

 private:
  static constexpr std::size_t kTerms = 5;
  using Terms = std::array<double, kTerms>;
  struct Point {
    std::vector<double> features;
    double ln_ns = 0;
  };

  [[nodiscard]] static Terms terms_of(const std::vector<double>& features);
  [[nodiscard]] Terms fit() const;
  [[nodiscard]] static double value_at(const Terms& weights, const std::vector<double>& features);

  std::vector<Point> points_;
  std::array<Terms, kTerms> products_ = {};  ///< Σ term · term
  Terms targets_ = {};                       ///< Σ term · ln ns
};

}  // namespace understudy::calibrator
