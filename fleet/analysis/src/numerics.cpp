#include "fleet/analysis/numerics.h"

#include <algorithm>
#include <numeric>

namespace understudy::fleet {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

std::vector<double> non_negative_least_squares(const Columns& columns,
                                               const std::vector<double>& target) {
  constexpr int kMostRounds = 20000;
  constexpr double kSettled = 1e-10;
  const std::size_t count = columns.size();
  std::vector<std::vector<double>> products(count, std::vector<double>(count));
  std::vector<double> toward(count);
  for (std::size_t i = 0; i < count; ++i) {
    toward[i] = dot(columns[i], target);
    for (std::size_t j = 0; j < count; ++j) {
      products[i][j] = dot(columns[i], columns[j]);
    }
  }
  std::vector<double> weights(count, 0.0);
  for (int round = 0; round < kMostRounds; ++round) {
    double moved = 0;
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (products[i][i] <= 0) {
        continue;
      }
      const double gradient = dot(products[i], weights) - toward[i];
      const double next = std::max(0.0, weights[i] - gradient / products[i][i]);
      moved = std::max(moved, std::abs(next - weights[i]));
      largest = std::max(largest, next);
      weights[i] = next;
    }
    if (moved <= kSettled * largest) {
      break;
    }
  }
  return weights;
}

double residual_of(const Columns& columns, const std::vector<double>& weights,
                   const std::vector<double>& target) {
  double sum = 0;
  for (std::size_t row = 0; row < target.size(); ++row) {
    double value = -target[row];
    for (std::size_t i = 0; i < columns.size(); ++i) {
      value += weights[i] * columns[i][row];
    }
    sum += value * value;
  }
  return std::sqrt(sum);
}

}  // namespace understudy::fleet
