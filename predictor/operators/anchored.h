#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"

namespace understudy::predictor {

/// What a call's time on a device consists of (docs/prediction.md, "From a profile").
enum class TimePart : std::size_t {
  kFloors,    ///< what any kernel takes, however little it does
  kLatency,   ///< dependent accesses and instructions of a block, which no bandwidth shortens
  kProducts,  ///< arithmetic or bytes of products, convolutions and attention
  kMemory,    ///< bytes of all else
  kUnknown,   ///< work that nothing tells: by the card's peaks alone
  kKept       ///< what the card does not decide: copies from and to the host, communication
};
inline constexpr std::size_t kTimeParts = static_cast<std::size_t>(TimePart::kKept) + 1;

/// A time by its parts, ns.
struct TimeParts {
  std::array<double, kTimeParts> ns = {};
  [[nodiscard]] double& operator[](TimePart part) { return ns[static_cast<std::size_t>(part)]; }
  TimeParts& operator+=(const TimeParts& other);
  [[nodiscard]] double total_ns() const;
  /// Half the width of the 90 % interval: a part's error is the same in all calls, those of the
  /// parts are independent of each other.
  [[nodiscard]] double half_width_ns() const;
};

/// Kernels of one class that one operator launched on a card.
struct RecordedKernels {
  OperatorCall call;  ///< without layouts: its work is unknown
  std::string_view kernel_class = {};
  double kernels = 1;
  double ns = 0;               ///< of all of them
  double blocks = 0;           ///< of threads in the longest; 0: not told
  bool crosses_hosts = false;  ///< between the card and something else: copies, communication
};

/// What they would take on another card: the recorded time, taken apart by what bounds it `here`,
/// with each part as long as it would be `there`.
[[nodiscard]] TimeParts anchored_time(const RecordedKernels& recorded, const Card& here,
                                      const Card& there);

/// The classic roofline of the call on a card, at its peaks; 0 without layouts.
[[nodiscard]] double roofline_bound_ns(const OperatorCall& call, const Card& card);

}  // namespace understudy::predictor
