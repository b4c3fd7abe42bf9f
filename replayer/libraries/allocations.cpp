// The replay's counting allocator as a library of C functions, to count a Python program's tensors
// with the same code. Python must load it with ctypes, after torch and before the first tensor is
// allocated.

#include "replayer/memory/memory.h"

extern "C" {

void understudy_count_allocations() {
  understudy::replayer::count_cpu_allocations();
}

/// Returns the peak of live bytes since counting began, or since the last reset.
std::uint64_t understudy_peak_bytes() {
  return understudy::replayer::cpu_allocations().peak_bytes;
}

void understudy_reset_peak() {
  understudy::replayer::reset_cpu_peak();
}
}
