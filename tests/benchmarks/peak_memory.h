#pragma once

#include <fstream>
#include <string>

namespace understudy {

/// This process's peak resident memory. getrusage() would count what its parent had when it started
/// it. 0 where the kernel does not tell.
[[nodiscard]] inline double peak_bytes() {
  constexpr double kKibibyte = 1024;
  std::ifstream status("/proc/self/status");
  std::string word;
  double kibibytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") {
      status >> kibibytes;
    }
  }
  return kibibytes * kKibibyte;
}

}  // namespace understudy
