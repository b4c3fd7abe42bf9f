#pragma once

#include <optional>
#include <vector>

namespace understudy::et_schema {

// Statistics of plain numbers, one convention for all parts.

/// Interpolates linearly between closest ranks of sorted samples; q in [0, 1]. Null without
/// samples.
[[nodiscard]] std::optional<double> percentile(const std::vector<double>& sorted, double q);
/// Returns the middle sample, or the mean of the middle two. Null without samples.
[[nodiscard]] std::optional<double> median(std::vector<double> samples);

/// Returns NaN without values.
[[nodiscard]] double mean(const std::vector<double>& values);
/// Returns the sample variance; 0 for fewer than two values.
[[nodiscard]] double variance(const std::vector<double>& values);

/// Returns P(|T| ≥ |t|) for Student's t with `degrees` > 0 degrees of freedom.
[[nodiscard]] double two_sided_p(double t, double degrees);
/// Returns the t with two_sided_p(t, degrees) = p.
[[nodiscard]] double t_of_two_sided_p(double p, double degrees);

}  // namespace understudy::et_schema
