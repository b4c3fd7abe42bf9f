#pragma once

#include <cstddef>

#include "bound_call.h"
#include "calibrator/measure/caller.h"

namespace understudy::calibrator {

/// How often a call is timed, and when what it changes in place is put back.
class Repetitions {
 public:
  /// `first_ns`: what the call took once, untimed.
  Repetitions(BoundCall& call, const TimingLimits& limits, double first_ns);

  /// Whether the call is timed once more; then it may have its first content again.
  [[nodiscard]] bool next();
  /// What the repetition took.
  void spend(double ns) { spent_ns_ += ns; }

 private:
  BoundCall& call_;
  TimingLimits limits_;
  std::size_t begun_ = 0;
  double spent_ns_ = 0;
};

}  // namespace understudy::calibrator
