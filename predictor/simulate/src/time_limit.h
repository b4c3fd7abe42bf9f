#pragma once

#include <fmt/format.h>

#include <string>

#include "et_schema/base/error.h"

namespace understudy::predictor {

/// Limits sums of times to the range of simulated clocks (64-bit nanoseconds), even if all ranks
/// run sequentially. Longer times would overflow.
class TimeLimit {
 public:
  /// Throws Error (usage) if the times add up to more than 11 days, or if one is NaN.
  void add(double ns, const std::string& name) {
    constexpr double kMostNs = 1e15;
    total_ns_ += ns;
    if (!(total_ns_ <= kMostNs)) {
      throw et_schema::usage_error(
          "times that are too long to simulate",
          {.expected = fmt::format("at most {:g} ns in an iteration of a rank", kMostNs),
           .got = fmt::format("{:g} ns, of them {:g} ns in {}", total_ns_, ns, name),
           .hint = "smaller factors of --what-if, or other costs"});
    }
  }

 private:
  double total_ns_ = 0;
};

}  // namespace understudy::predictor
