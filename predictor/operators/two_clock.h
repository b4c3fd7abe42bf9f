#pragma once

#include <span>

#include "predictor/operators/features.h"

namespace understudy::predictor {

/// The base of all models: max(floor, fixed + sqrt((compute / a)^2 + (memory / b)^2)). `floor` is
/// the host's time for a call, `fixed` the device's fixed time. The shares a and b are the parts of
/// the peaks that kernels reach.
struct TwoClock {
  double floor_ns = 0;
  double fixed_ns = 0;
  double compute_share = 1;
  double memory_share = 1;
  bool operator==(const TwoClock&) const = default;
};

/// Returns the time on the device.
[[nodiscard]] double kernel_ns(const TwoClock& base, double compute_ns, double memory_ns);
/// Returns the time of the call, above 0.
[[nodiscard]] double base_ns(const TwoClock& base, double compute_ns, double memory_ns);

/// Input of a fit: the roofline's parts and ln of the time.
struct BaseSample {
  double compute_ns = 0;
  double memory_ns = 0;
  double ln_ns = 0;
};

/// What a kernel takes that does next to nothing.
inline constexpr double kLaunchNs = 2000;

/// Fits by least squares on ln t with a soft-L1 loss, from four starts. Fewer different amounts of
/// work than parameters determine only one factor of the shares that kernels usually reach, and
/// what the shortest time is above it; fewer than 30 samples are held near that. Deterministic.
/// Needs at least one sample.
[[nodiscard]] TwoClock fit_two_clock(std::span<const BaseSample> samples);

}  // namespace understudy::predictor
