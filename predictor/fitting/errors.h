#pragma once

#include <cstddef>
#include <vector>

namespace understudy::predictor {

/// How far predictions are from measurements that they were not fitted to. With e = predicted /
/// measured - 1, as shares: 0.05 is 5 %.
struct Errors {
  std::size_t n = 0;
  double mean = 0;       ///< mean |e|
  double geometric = 0;  ///< exp(mean ln(|e| + 0.0004)), as in Lin et al., arXiv 2404.12674
  double worst = 0;      ///< the largest |e|
  double bias = 0;       ///< mean e: its sign says whether predictions are too long
  bool operator==(const Errors&) const = default;
};

/// `residuals` are ln measured - ln predicted. Of none: all 0.
[[nodiscard]] Errors errors_of(const std::vector<double>& residuals);
/// Both lists are of one length; what was measured is above 0.
[[nodiscard]] Errors summarize_errors(const std::vector<double>& predicted,
                                      const std::vector<double>& measured);

/// The split-conformal quantile: the ceil(share (n + 1))-th smallest score, the largest times
/// `beyond` where that is beyond them all, 0 without scores. Intervals of that half width hold
/// `share` of what is alike.
[[nodiscard]] double conformal_quantile(std::vector<double> scores, double share,
                                        double beyond = 1);

}  // namespace understudy::predictor
