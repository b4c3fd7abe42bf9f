#pragma once

#include <vector>

namespace understudy::fleet {

/// A vector of each job.
using Columns = std::vector<std::vector<double>>;

/// The weights, none negative, with which the columns add up to `target` best in the sense of least
/// squares: coordinate descent on the normal equations, until no weight moves by 1e-10 of the
/// largest.
[[nodiscard]] std::vector<double> non_negative_least_squares(const Columns& columns,
                                                             const std::vector<double>& target);

/// √Σ(Σ weight × column − target)².
[[nodiscard]] double residual_of(const Columns& columns, const std::vector<double>& weights,
                                 const std::vector<double>& target);

}  // namespace understudy::fleet
