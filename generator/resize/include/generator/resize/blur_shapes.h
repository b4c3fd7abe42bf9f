#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "et_schema/bench/bench.h"

namespace understudy::generator {

/// What a benchmark computes and moves in an iteration, all ranks.
struct Work {
  double flops = 0;  ///< of matrix products, convolutions and recurrent layers
  double bytes = 0;  ///< of all operators' tensors, read or made
};

struct Blurred {
  et_schema::Bench bench;
  std::map<std::int64_t, std::int64_t> changed;  ///< size → what it is now
  std::map<std::int64_t, std::string> kept;      ///< size → why it stayed
  std::uint64_t dropped_bodies = 0;  ///< operators of which it is not known below any more
  Work before;
  Work after;
};

/// Sizes of 16 and more that do not count.
inline constexpr std::int64_t kLeastBlurred = 16;

/// The benchmark with other sizes of tensors, each by at most `within` (0.05: 5 %) of what it was.
/// A size becomes the same other one wherever it occurs, on all ranks: in tensors, strides,
/// arguments and value rules, so that what fitted together still does. It keeps its alignment (the
/// largest power of two up to 64 that divides it) and its side of sizes at which libraries choose
/// other algorithms. Where that cannot be had, or an operator computes sizes in a way that is not
/// known here, it stays, with the reason. The original's heap blocks and page faults go, and what
/// was recorded below operators where it does not fit the new sizes.
/// Deterministic: what is chosen depends on the whole benchmark.
[[nodiscard]] Blurred blur_shapes(et_schema::Bench bench, double within);

}  // namespace understudy::generator
