#include "replayer/memory/page_fault.h"

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "et_schema/base/statistics.h"
#include "replayer/memory/heap.h"

namespace understudy::replayer {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr std::size_t kRounds = 30;

}  // namespace

double measure_page_fault_ns() {
  constexpr std::size_t kBytes = std::size_t{16} << 20U;
  constexpr std::size_t kStep = 4096;
  std::vector<double> each_ns;
  for (std::size_t round = 0; round < kRounds; ++round) {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return 0;
    }
    const std::uint64_t before = minor_faults();
    const Clock::time_point begin = Clock::now();
    for (std::size_t at = 0; at < kBytes; at += kStep) {
      static_cast<volatile char*>(memory)[at] = 1;
    }
    const double spent_ns = Nanoseconds(Clock::now() - begin).count();
    const std::uint64_t faults = minor_faults() - before;
    munmap(memory, kBytes);
    if (faults > 0) {
      each_ns.push_back(spent_ns / static_cast<double>(faults));
    }
  }
  return et_schema::median(std::move(each_ns)).value_or(0);
}

}  // namespace understudy::replayer
