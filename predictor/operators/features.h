#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/work/work.h"

namespace understudy::predictor {

/// Input of the models for a call on a card (docs/prediction.md, "Features"). Sizes are logarithms;
/// features that a family does not have are 0. None is a figure of the card itself.
inline constexpr std::size_t kFeatures = 57;
using Features = std::array<float, kFeatures>;

/// The four sizes of a call. Product: batch, m, n, k. Convolution: batch, channels in and out,
/// size. Attention: batch times heads, queries, keys, width. Experts: tokens, experts, hidden and
/// inner width. Other: rows, row length, elements out and in.
inline constexpr std::size_t kFirstSize = 6;
inline constexpr std::size_t kSizes = 4;
/// How much slower the operator is than its family; filled in by the models.
inline constexpr std::size_t kOperatorFeature = kFeatures - 1;

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
  /// Minimum time of any algorithm at the peaks: convolutions can need fewer products, float32
  /// products can run on tensor cores, and bytes can be in a cache.
  double least_ns = 0;
  KernelLoad kernels = {};  ///< work of its kernels at the peaks, including padding
  std::string op;           ///< "aten::add.Tensor"
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

/// Returns a hash of operator, types and sizes, which is equal on all cards.
[[nodiscard]] std::uint64_t shape_hash(const OperatorCall& call);

/// Returns the card with missing peaks replaced by measured ones: FLOPs and bytes per second of the
/// fastest 1 % of its calls. An unknown cache is assumed to be 32 MiB, unknown processors 1.
/// `source` names the replaced figures.
[[nodiscard]] Card with_measured_peaks(Card card, const std::vector<const MeasuredCall*>& calls);

}  // namespace understudy::predictor
