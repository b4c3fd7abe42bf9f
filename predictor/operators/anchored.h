#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"

namespace understudy::predictor {

/// The parts of a call's time on a device (docs/prediction.md, "From a profile").
enum class TimePart : std::size_t {
  kFloors,    ///< minimum time of any kernel, however little work it has
  kLatency,   ///< dependent accesses and instructions of a block; independent of bandwidth
  kProducts,  ///< arithmetic or bytes of products, convolutions and attention
  kMemory,    ///< bytes of all other calls
  kUnknown,   ///< unknown work: scaled by the card's peaks alone
  kKept       ///< independent of the card: copies between host and device, communication
};
inline constexpr std::size_t kTimeParts = static_cast<std::size_t>(TimePart::kKept) + 1;

/// A time divided into parts, ns.
struct TimeParts {
  std::array<double, kTimeParts> ns = {};
  double unlike = 0;  ///< distance of the cards in octaves (transfer.h), at most 1: they err by it
  [[nodiscard]] double& operator[](TimePart part) { return ns[static_cast<std::size_t>(part)]; }
  TimeParts& operator+=(const TimeParts& other);
  [[nodiscard]] double total_ns() const;
  /// Returns half the width of the 90 % interval. A part's error is the same in all calls; errors
  /// of different parts are independent.
  [[nodiscard]] double half_width_ns() const;
};

/// Kernels of one class that one operator launched on a card.
struct RecordedKernels {
  OperatorCall call;  ///< without layouts if its work is unknown
  std::string_view kernel_class = {};
  double kernels = 1;
  double ns = 0;      ///< total of all kernels
  double blocks = 0;  ///< thread blocks of the longest kernel; 0: unknown
  /// True if the kernels move data to or from the card: copies, communication.
  bool crosses_hosts = false;
};

/// Returns the time of recorded kernels on another card: splits the time on `here` into parts by
/// what limits them, and scales each part to `there`.
[[nodiscard]] TimeParts anchored_time(const RecordedKernels& recorded, const Card& here,
                                      const Card& there);

/// Returns the roofline's time of a call at the card's peaks; 0 without layouts.
[[nodiscard]] double roofline_bound_ns(const OperatorCall& call, const Card& card);

}  // namespace understudy::predictor
