#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace understudy::predictor {

/// Bus bandwidth over size as Lin et al. model it (arXiv 2404.12674; owensgroup/ml_perf_model,
/// memory_bw_utils.py): log10(GB/s) = L / (1 + exp(-k (log2(bytes) - x0))) + b between a region
/// where the time is flat and one where the bandwidth is the highest.
struct BandwidthSigmoid {
  double start_log2 = 0;       ///< up to here a call takes `overhead_us`
  double saturation_log2 = 0;  ///< beyond it the bandwidth is max_gb_per_s
  double max_gb_per_s = 0;
  double overhead_us = 0;
  double l = 0, x0 = 0, k = 0, b = 0;
  /// The published code adds the overhead to saturated calls, too, though their bandwidth holds it.
  bool adds_overhead = true;
  bool operator==(const BandwidthSigmoid&) const = default;
};

/// Time of a call of `bytes` whose traffic is `factor` times its size (comm_traits.h, BusFactor).
[[nodiscard]] double sigmoid_us(const BandwidthSigmoid& sigmoid, double bytes, double factor);

/// A size and what it took.
struct SizeTime {
  double bytes = 0;
  double us = 0;
};

/// How the regions are found.
enum class Regions : std::uint8_t {
  kPublished,  ///< by the published rule, which needs a sweep from some bytes on
  kNone        ///< no flat region: for sweeps that start where bandwidth counts already
};

/// Fits it to a sweep in ascending order of size, of five sizes or more: nothing from fewer.
[[nodiscard]] std::optional<BandwidthSigmoid> fit_sigmoid(const std::vector<SizeTime>& sweep,
                                                          double factor, Regions regions);

}  // namespace understudy::predictor
