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

/// What models see of a call on a card (docs/prediction.md, "Features"). Sizes are logarithms; what
/// a family does not have is 0.
inline constexpr std::size_t kFeatures = 72;
using Features = std::array<float, kFeatures>;

/// The four sizes of a call: batch, m, n, k of a product; batch, channels in and out, size of a
/// convolution; else rows, row length, elements out and in.
inline constexpr std::size_t kFirstSize = 6;
inline constexpr std::size_t kSizes = 4;
/// Bytes of an element of the first tensor.
inline constexpr std::size_t kElementBytesFeature = 50;
/// What models fill in themselves: how much slower than its family the operator is.
inline constexpr std::size_t kOperatorFeature = 62;
/// What its kernels do, ln of ns: of arithmetic, then of memory.
inline constexpr std::size_t kKernelsFeature = 55;
/// Features of the card alone, from here on.
inline constexpr std::size_t kFirstCardFeature = 64;
/// The last of them: ln of its memory's bytes a second and processor.
inline constexpr std::size_t kBandwidthFeature = 71;

/// Times at a card's peaks.
struct KernelLoad {
  double compute_ns = 0;
  double memory_ns = 0;
};

/// A call as models take it.
struct Point {
  Features x = {};
  double compute_ns = 0;  ///< FLOPs at the card's peak
  double memory_ns = 0;   ///< bytes at the card's bandwidth
  /// The least that any way of computing the result takes: convolutions are done with fewer
  /// products, those of float32 on tensor cores. 0 where the card has no peak of the type.
  double least_compute_ns = 0;
  KernelLoad kernels = {};  ///< what its kernels do, at those: padding and transforms included
  std::uint64_t shape = 0;  ///< of operator, dtypes, shapes: what a split keeps together
  std::string op;           ///< "aten::add.Tensor"
};

/// What no kernel can be faster than; 0 for what moves nothing.
[[nodiscard]] inline double bound_ns(const Point& point) {
  return point.compute_ns > point.memory_ns ? point.compute_ns : point.memory_ns;
}

/// The card's peaks, bandwidth, processors and cache have to be above 0.
[[nodiscard]] Point point_of(const OperatorCall& call, const Card& card);

/// The type whose peak counts: that of the first floating tensor, float32 where there is none.
[[nodiscard]] DType compute_dtype(const OperatorCall& call);

/// "aten::add.Tensor".
[[nodiscard]] std::string full_name(const OperatorCall& call);

/// The card with the peaks that are 0 taken from calls measured on it: FLOPs and bytes a second of
/// the fastest hundredth of calls. A cache that is not told is taken as 32 MiB, processors as 1.
/// What was found so is named in `source`.
[[nodiscard]] Card with_measured_peaks(Card card, const std::vector<const MeasuredCall*>& calls);

}  // namespace understudy::predictor
