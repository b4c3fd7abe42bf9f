#pragma once

#include <optional>
#include <vector>

namespace understudy::et_schema {

// Statistics of plain numbers, one convention for all parts.

/// Linear interpolation between closest ranks of sorted samples; q in [0, 1]. Null for none.
[[nodiscard]] std::optional<double> percentile(const std::vector<double>& sorted, double q);
/// The middle sample, or half-way between the middle two. Null for none.
[[nodiscard]] std::optional<double> median(std::vector<double> samples);

/// NaN for none.
[[nodiscard]] double mean(const std::vector<double>& values);
/// Sample variance; 0 for fewer than two values.
[[nodiscard]] double variance(const std::vector<double>& values);

/// P(|T| ≥ |t|) for Student's t with `degrees` > 0 degrees of freedom.
[[nodiscard]] double two_sided_p(double t, double degrees);
/// The t that |T| reaches with this probability.
[[nodiscard]] double t_of_two_sided_p(double p, double degrees);

}  // namespace understudy::et_schema
