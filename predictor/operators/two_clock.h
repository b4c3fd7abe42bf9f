#pragma once

#include <span>

#include "predictor/operators/features.h"

namespace understudy::predictor {

/// The base of all models: max(floor, fixed + sqrt((compute / a)^2 + (memory / b)^2)).
/// `floor` is what the host needs for a call, `fixed` what the device does, a and b the shares of
/// the peaks that kernels reach.
struct TwoClock {
  double floor_ns = 0;
  double fixed_ns = 0;
  double compute_share = 1;
  double memory_share = 1;
  bool operator==(const TwoClock&) const = default;
};

/// Of the device alone.
[[nodiscard]] double kernel_ns(const TwoClock& base, double compute_ns, double memory_ns);
/// Of the call; above 0.
[[nodiscard]] double base_ns(const TwoClock& base, double compute_ns, double memory_ns);

/// What is fitted to: roofline parts and the logarithm of the time.
struct BaseSample {
  double compute_ns = 0;
  double memory_ns = 0;
  double ln_ns = 0;
};

/// Least squares on ln t with a soft-L1 loss from four starts; `around`, where given, pulls what
/// few samples leave open towards it, `pull` times as strongly as one sample does. Deterministic.
/// At least one sample.
[[nodiscard]] TwoClock fit_two_clock(std::span<const BaseSample> samples,
                                     const TwoClock* around = nullptr, double pull = 0);

/// floor + max(compute / a, memory / b): the model named "roofline".
[[nodiscard]] double roofline_ns(const TwoClock& base, double compute_ns, double memory_ns);
[[nodiscard]] TwoClock fit_roofline(std::span<const BaseSample> samples);

}  // namespace understudy::predictor
