#pragma once

#include <cstddef>
#include <vector>

namespace understudy::predictor {

/// How far predictions are from measurements. With e = predicted / measured - 1, as shares of 1.
struct ErrorSummary {
  std::size_t n = 0;
  double geometric = 0;  ///< exp(mean ln(|e| + 0.0004)), as in Lin et al., arXiv 2404.12674
  double mean = 0;       ///< mean |e|
  double max = 0;        ///< max |e|
  double bias = 0;       ///< mean e: its sign says whether predictions are too long
  bool operator==(const ErrorSummary&) const = default;
};

/// All zero without pairs. Both lists are of one length; what was measured is above 0.
[[nodiscard]] ErrorSummary summarize_errors(const std::vector<double>& predicted,
                                            const std::vector<double>& measured);

/// The split-conformal quantile: the ceil(share (n + 1))-th smallest score, the largest where that
/// is beyond them all, 0 without scores. Intervals of that half width hold `share` of what is
/// alike.
[[nodiscard]] double conformal_quantile(std::vector<double> scores, double share);

}  // namespace understudy::predictor
