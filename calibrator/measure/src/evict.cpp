#include <cstdint>
#include <vector>

#include "rinse.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace understudy::calibrator {
namespace {

#if defined(__x86_64__)
void evict_line(const char* line) {
  _mm_clflush(line);
}
void finish() {
  _mm_mfence();
}
#elif defined(__aarch64__)
void evict_line(const char* line) {
  asm volatile("dc civac, %0" : : "r"(line) : "memory");
}
void finish() {
  asm volatile("dsb ish" : : : "memory");
}
#else
/// Twice what a large last-level cache holds.
constexpr std::size_t kSweptBytes = std::size_t{256} << 20U;

void sweep() {
  static std::vector<char> memory(kSweptBytes);
  for (std::size_t at = 0; at < memory.size(); at += kLineBytes) {
    asm volatile("" : : "r"(++memory[at]) : "memory");
  }
}
#endif

}  // namespace

void evict(const void* memory, std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
#if defined(__x86_64__) || defined(__aarch64__)
  const auto* const begin = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
    evict_line(begin + at);
  }
  evict_line(begin + bytes - 1);
  finish();
#else
  static_cast<void>(memory);
  sweep();
#endif
}

}  // namespace understudy::calibrator
