#include "predictor/fitting/least_squares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "et_schema/base/assert.h"

namespace understudy::predictor {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Solves the symmetric positive definite system by Cholesky decomposition. Returns nothing if
/// columns are linearly dependent.
std::optional<std::vector<double>> solve(Matrix a, std::vector<double> b) {
  constexpr double kDependent = 1e-12;
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    double pivot = a[j][j];
    for (std::size_t k = 0; k < j; ++k) {
      pivot -= a[j][k] * a[j][k];
    }
    if (!(pivot > kDependent)) {
      return std::nullopt;
    }
    a[j][j] = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) {
        a[i][j] -= a[i][k] * a[j][k];
      }
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      b[i] -= a[i][k] * b[k];
    }
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) {
      b[i] -= a[k][i] * b[k];
    }
    b[i] /= a[i][i];
  }
  return b;
}

/// X'X and X'y of columns scaled to length 1.
struct NormalEquations {
  Matrix gram;
  std::vector<double> right;
  std::vector<double> lengths;
};

NormalEquations normal_equations(const DesignMatrix& rows, const std::vector<double>& targets) {
  const std::size_t n = rows.front().size();
  NormalEquations equations{Matrix(n, std::vector<double>(n)), std::vector<double>(n),
                            std::vector<double>(n)};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      equations.right[i] += rows[r][i] * targets[r];
      for (std::size_t j = 0; j < n; ++j) {
        equations.gram[i][j] += rows[r][i] * rows[r][j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    equations.lengths[i] = std::sqrt(equations.gram[i][i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double length = equations.lengths[i];
    equations.right[i] = length > 0 ? equations.right[i] / length : 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double lengths = length * equations.lengths[j];
      equations.gram[i][j] = lengths > 0 ? equations.gram[i][j] / lengths : 0;
    }
  }
  return equations;
}

std::vector<std::size_t> members_of(std::uint32_t set, std::size_t n) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < n; ++i) {
    if (((set >> i) & 1U) != 0) {
      members.push_back(i);
    }
  }
  return members;
}

/// Returns the solution with these columns only, or nothing if a coefficient would be negative.
std::optional<std::vector<double>> solve_with(const NormalEquations& equations,
                                              const std::vector<std::size_t>& members) {
  Matrix gram(members.size(), std::vector<double>(members.size()));
  std::vector<double> right(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    right[i] = equations.right[members[i]];
    for (std::size_t j = 0; j < members.size(); ++j) {
      gram[i][j] = equations.gram[members[i]][members[j]];
    }
  }
  std::optional<std::vector<double>> solution = solve(std::move(gram), std::move(right));
  if (solution && std::ranges::any_of(*solution, [](double value) { return value < 0; })) {
    return std::nullopt;
  }
  return solution;
}

}  // namespace

std::vector<double> nonnegative_least_squares(const DesignMatrix& rows,
                                              const std::vector<double>& targets) {
  UNDERSTUDY_ASSERT(!rows.empty() && rows.size() == targets.size());
  const std::size_t n = rows.front().size();
  UNDERSTUDY_ASSERT(n <= kMostColumns);
  const NormalEquations equations = normal_equations(rows, targets);
  std::vector<double> best(n);
  double best_gain = 0;
  for (std::uint32_t set = 1; set < (1U << n); ++set) {
    const std::vector<std::size_t> members = members_of(set, n);
    const auto solution = solve_with(equations, members);
    if (!solution) {
      continue;
    }
    // Reduction of the sum of squares by these columns.
    double gain = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      gain += (*solution)[i] * equations.right[members[i]];
    }
    if (gain > best_gain) {
      best_gain = gain;
      std::ranges::fill(best, 0.0);
      for (std::size_t i = 0; i < members.size(); ++i) {
        best[members[i]] = (*solution)[i] / equations.lengths[members[i]];
      }
    }
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
