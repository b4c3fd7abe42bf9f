#pragma once

#include <sys/time.h>

namespace understudy::replayer {

inline constexpr double kMsPerSecond = 1000;

/// Converts the kernel's seconds and microseconds.
[[nodiscard]] inline double milliseconds(const timeval& time) {
  constexpr double kUsPerMs = 1000;
  return static_cast<double>(time.tv_sec) * kMsPerSecond +
         static_cast<double>(time.tv_usec) / kUsPerMs;
}

}  // namespace understudy::replayer
