#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/operators/work.h"

namespace understudy::predictor {

/// Input of the models for a call on a card (docs/prediction.md, "Features"). Sizes are logarithms;
/// features that a family does not have are 0.
inline constexpr std::size_t kFeatures = 72;
using Features = std::array<float, kFeatures>;

/// The four sizes of a call. Product: batch, m, n, k. Convolution: batch, channels in and out,
/// size. Other: rows, row length, elements out and in.
inline constexpr std::size_t kFirstSize = 6;
inline constexpr std::size_t kSizes = 4;
/// Bytes of the first tensor's elements.
inline constexpr std::size_t kElementBytesFeature = 50;
/// How much slower the operator is than its family; filled in by the models.
inline constexpr std::size_t kOperatorFeature = 62;
/// Index of the first of two: ln of the kernels' arithmetic time in ns, then of their memory time.
inline constexpr std::size_t kKernelsFeature = 55;
/// Index of the first feature that depends on the card only.
inline constexpr std::size_t kFirstCardFeature = 64;
/// Index of the last card feature: ln of memory bandwidth in bytes/s per processor.
inline constexpr std::size_t kBandwidthFeature = 71;

/// Times at a card's peaks.
struct KernelLoad {
  double compute_ns = 0;
  double memory_ns = 0;
};

/// A call in the form that models use.
struct Point {
  Features x = {};
  double compute_ns = 0;  ///< FLOPs / the card's peak
  double memory_ns = 0;   ///< bytes / the card's bandwidth
  /// Minimum compute time of any algorithm: convolutions can need fewer products, and float32
  /// products can run on tensor cores. 0 if the card has no peak for the type.
  double least_compute_ns = 0;
  KernelLoad kernels = {};  ///< work of its kernels at the peaks, including padding and transforms
  /// Hash of operator, dtypes and shapes. Equal shapes stay in one fold.
  std::uint64_t shape = 0;
  std::string op;  ///< "aten::add.Tensor"
};

/// Returns the roofline bound; 0 if the call moves nothing.
[[nodiscard]] inline double bound_ns(const Point& point) {
  return point.compute_ns > point.memory_ns ? point.compute_ns : point.memory_ns;
}

/// Returns a call's features. The card's peaks, bandwidth, processors and cache must be above 0.
[[nodiscard]] Point point_of(const OperatorCall& call, const Work& work, const Card& card);
[[nodiscard]] inline Point point_of(const OperatorCall& call, const Card& card) {
  return point_of(call, work_of(call), card);
}

/// Returns the type whose peak applies: that of the first floating-point tensor, otherwise float32.
[[nodiscard]] DType compute_dtype(const OperatorCall& call);

/// Returns the card with missing peaks replaced by measured ones: FLOPs and bytes per second of the
/// fastest 1 % of its calls. An unknown cache is assumed to be 32 MiB, unknown processors 1.
/// `source` names the replaced figures.
[[nodiscard]] Card with_measured_peaks(Card card, const std::vector<const MeasuredCall*>& calls);

}  // namespace understudy::predictor
