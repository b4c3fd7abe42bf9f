#pragma once

#include <cstddef>
#include <vector>

namespace understudy::predictor {

/// A row of the design matrix for each measurement.
using DesignMatrix = std::vector<std::vector<double>>;

/// At most so many columns.
inline constexpr std::size_t kMostColumns = 12;

/// The coefficients, none below 0, that make sum (row . c - target)^2 least. Exact: each set of
/// columns that may be above 0 is solved, so kMostColumns bounds them. Columns that are zero or
/// that others make up get 0.
[[nodiscard]] std::vector<double> nonnegative_least_squares(const DesignMatrix& rows,
                                                            const std::vector<double>& targets);

/// The same with each error as a share of its target: all targets are above 0.
[[nodiscard]] std::vector<double> relative_least_squares(DesignMatrix rows,
                                                         const std::vector<double>& targets);

}  // namespace understudy::predictor
