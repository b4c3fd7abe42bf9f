#pragma once

#include <fstream>
#include <string>

namespace understudy {

/// This process's peak resident memory in bytes. getrusage() would include the memory of its parent
/// when that started it. 0 if the kernel does not tell.
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
