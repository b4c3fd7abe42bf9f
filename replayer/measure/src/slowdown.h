#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "replayer/bind/bound.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// Spins inside of the operators of one class, for a share of their time: a slowdown of known size,
/// to test a comparison.
class Slowdown {
 public:
  /// Throws Error (usage) if the program has no operator of that class.
  Slowdown(const BoundProgram& bound, const PlantedSlowdown& planted);

  void built(std::size_t step) {
    if (slowed_[step]) {
      begin_ = Clock::now();
    }
  }
  void called(std::size_t step) {
    if (slowed_[step]) {
      spin();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  void spin() const;

  std::vector<bool> slowed_;  ///< by step
  double share_;
  Clock::time_point begin_;
};

}  // namespace understudy::replayer
