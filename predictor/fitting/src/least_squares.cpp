#include "predictor/fitting/least_squares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "et_schema/base/assert.h"
#include "et_schema/base/interval.h"

namespace understudy::predictor {
namespace {

/// X'X and X'y of columns scaled to length 1.
struct NormalEquations {
  DesignMatrix gram;
  std::vector<double> right;
  std::vector<double> lengths;
};

NormalEquations normal_equations(const DesignMatrix& rows, const std::vector<double>& targets) {
  const std::size_t n = rows.front().size();
  NormalEquations equations{DesignMatrix(n, std::vector<double>(n)), std::vector<double>(n),
                            std::vector<double>(n)};
  for (const std::vector<double>& row : rows) {
    for (std::size_t i = 0; i < n; ++i) {
      equations.lengths[i] = et_schema::root_sum_square(equations.lengths[i], row[i]);
    }
  }
  const auto scaled = [&](const std::vector<double>& row, std::size_t i) {
    return equations.lengths[i] > 0 ? row[i] / equations.lengths[i] : 0;
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      equations.right[i] += scaled(rows[r], i) * targets[r];
      for (std::size_t j = 0; j < n; ++j) {
        equations.gram[i][j] += scaled(rows[r], i) * scaled(rows[r], j);
      }
    }
  }
  return equations;
}

}  // namespace

std::vector<double> nonnegative_least_squares(const DesignMatrix& rows,
                                              const std::vector<double>& targets) {
  UNDERSTUDY_ASSERT(!rows.empty() && rows.size() == targets.size());
  constexpr int kMostSweeps = 100'000;
  constexpr double kSettled = 1e-14;  // a change, relative to the largest coefficient
  const NormalEquations equations = normal_equations(rows, targets);
  std::vector<double> best(equations.right.size());
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double largest = 0;
    double change = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      double rest = equations.right[i];
      for (std::size_t j = 0; j < best.size(); ++j) {
        rest -= j == i ? 0 : equations.gram[i][j] * best[j];
      }
      const double before = best[i];
      best[i] = equations.lengths[i] > 0 ? std::max(rest, 0.0) : 0;
      change = std::max(change, std::abs(best[i] - before));
      largest = std::max(largest, best[i]);
    }
    if (change <= kSettled * largest) {
      break;
    }
  }
  for (std::size_t i = 0; i < best.size(); ++i) {
    best[i] = best[i] > 0 ? best[i] / equations.lengths[i] : 0;
  }
  return best;
}

std::vector<double> relative_least_squares(DesignMatrix rows, const std::vector<double>& targets) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (double& value : rows[r]) {
      value /= targets[r];
    }
  }
  return nonnegative_least_squares(rows, std::vector<double>(rows.size(), 1.0));
}

}  // namespace understudy::predictor
