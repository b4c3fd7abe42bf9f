// The replay's counting allocator as a library of C functions, so that the same code counts a
// Python program's tensors. Python loads it with ctypes, after torch and before the program
// allocates its first tensor.

#include "replayer/memory/memory.h"

extern "C" {

void understudy_count_allocations() {
  understudy::replayer::count_cpu_allocations();
}

std::uint64_t understudy_live_bytes() {
  return understudy::replayer::cpu_allocations().live_bytes;
}

/// The highest sum of live bytes since counting began, or since the last reset.
std::uint64_t understudy_peak_bytes() {
  return understudy::replayer::cpu_allocations().peak_bytes;
}

void understudy_reset_peak() {
  understudy::replayer::reset_cpu_peak();
}
}
