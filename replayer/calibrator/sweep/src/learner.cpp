#include "replayer/calibrator/sweep/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "et_schema/base/assert.h"

namespace understudy::calibrator {
namespace {

constexpr std::size_t kLeastPoints = 6;
constexpr std::size_t kNeighbours = 3;
constexpr double kRidge = 1e-3;

/// Scale of the logarithms: they span about 20 units, and so do their scaled squares.
constexpr double kScale = 10;

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr std::size_t kLogarithms = 2;
  constexpr double kLogarithmsAgainstCoordinates = 0.3;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double scale = i < kLogarithms ? kLogarithmsAgainstCoordinates : 1;
    sum += scale * scale * (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(sum);
}

/// Solves a linear system by Gaussian elimination with pivots. The ridge keeps the matrix regular.
template <typename Matrix, typename Vector>
Vector solve(Matrix matrix, Vector right) {
  const std::size_t size = right.size();
  for (std::size_t column = 0; column < size; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < size; ++row) {
      pivot = std::abs(matrix[row][column]) > std::abs(matrix[pivot][column]) ? row : pivot;
    }
    std::swap(matrix[column], matrix[pivot]);
    std::swap(right[column], right[pivot]);
    for (std::size_t row = column + 1; row < size; ++row) {
      const double factor = matrix[row][column] / matrix[column][column];
      for (std::size_t k = column; k < size; ++k) {
        matrix[row][k] -= factor * matrix[column][k];
      }
      right[row] -= factor * right[column];
    }
  }
  for (std::size_t row = size; row-- > 0;) {
    for (std::size_t k = row + 1; k < size; ++k) {
      right[row] -= matrix[row][k] * right[k];
    }
    right[row] /= matrix[row][row];
  }
  return right;
}

}  // namespace

Learner::Terms Learner::terms_of(const std::vector<double>& features) {
  const double bytes = features[0] / kScale;
  const double work = features[1] / kScale;
  return {1, bytes, bytes * bytes, work, work * work};
}

void Learner::add(const std::vector<double>& features, double ns) {
  UNDERSTUDY_ASSERT(ns > 0 && features.size() >= 2);
  const double ln_ns = std::log(ns);
  const Terms terms = terms_of(features);
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t k = 0; k < kTerms; ++k) {
      products_[i][k] += terms[i] * terms[k];
    }
    targets_[i] += terms[i] * ln_ns;
  }
  points_.push_back({features, ln_ns});
}

Learner::Terms Learner::fit() const {
  std::array<Terms, kTerms> matrix = products_;
  for (std::size_t i = 0; i < kTerms; ++i) {
    matrix[i][i] += kRidge;
  }
  return solve(matrix, targets_);
}

double Learner::value_at(const Terms& weights, const std::vector<double>& features) {
  const Terms terms = terms_of(features);
  double value = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    value += weights[i] * terms[i];
  }
  return value;
}

std::optional<double> Learner::predict(const std::vector<double>& features) const {
  if (points_.size() < kLeastPoints) {
    return std::nullopt;
  }
  const Terms weights = fit();
  std::vector<std::pair<double, double>> near;  // distance, residual
  for (const Point& point : points_) {
    near.emplace_back(distance(point.features, features),
                      point.ln_ns - value_at(weights, point.features));
  }
  std::ranges::partial_sort(near, near.begin() + kNeighbours);
  constexpr double kLeastDistance = 0.05;
  double sum = 0;
  double weight = 0;
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    const double each = 1 / (near[i].first + kLeastDistance);
    sum += each * near[i].second;
    weight += each;
  }
  return std::exp(value_at(weights, features) + sum / weight);
}

}  // namespace understudy::calibrator
