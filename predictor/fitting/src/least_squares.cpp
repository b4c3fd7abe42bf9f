#include "predictor/fitting/least_squares.h"

#include <algorithm>
#include <cmath>

#include "et_schema/base/assert.h"

namespace understudy::predictor {
std::vector<double> nonnegative_least_squares(const DesignMatrix& rows,
                                              const std::vector<double>& targets) {
  UNDERSTUDY_ASSERT(!rows.empty() && rows.size() == targets.size());
  constexpr int kMostSweeps = 100'000;
  constexpr double kSettled = 1e-14;  // a change, relative to the largest coefficient
  // X'X and X'y. Coefficients are compared in units of their columns' lengths.
  const std::size_t n = rows.front().size();
  DesignMatrix gram(n, std::vector<double>(n));
  std::vector<double> right(n);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      right[i] += rows[r][i] * targets[r];
      for (std::size_t j = 0; j < n; ++j) {
        gram[i][j] += rows[r][i] * rows[r][j];
      }
    }
  }
  std::vector<double> best(n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double largest = 0;
    double change = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double rest = right[i];
      for (std::size_t j = 0; j < n; ++j) {
        rest -= j == i ? 0 : gram[i][j] * best[j];
      }
      const double before = best[i];
      best[i] = gram[i][i] > 0 ? std::max(rest / gram[i][i], 0.0) : 0;
      const double length = std::sqrt(gram[i][i]);
      change = std::max(change, length * std::abs(best[i] - before));
      largest = std::max(largest, length * best[i]);
    }
    if (change <= kSettled * largest) {
      break;
    }
  }
  return best;
}

}  // namespace understudy::predictor
