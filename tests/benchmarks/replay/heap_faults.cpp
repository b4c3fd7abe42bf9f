// How near the page faults of an iteration come to the wanted number, with this machine's C library
// and kernel. The iterations take, write and free 24 MiB in blocks of one MiB.

#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "replayer/memory/heap.h"

namespace understudy::replayer {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;
constexpr int kBlocks = 24;
constexpr int kSettling = 12;
constexpr int kMeasured = 10;

void iterate() {
  std::vector<void*> held;
  for (int i = 0; i < kBlocks; ++i) {
    held.push_back(allocate_block(kBlockBytes));
    std::memset(held.back(), 1, kBlockBytes);
  }
  for (void* const block : held) {
    if (!takes_over(block, malloc_usable_size(block))) {
      std::free(block);
    }
  }
}

/// The mean of the iterations after the first ones, which settle.
double faults_of_an_iteration(std::uint64_t wanted) {
  HeapPages heap(wanted, 1);
  heap.begin_learning();
  iterate();
  heap.end_learning();
  double sum = 0;
  for (int i = 0; i < kSettling + kMeasured; ++i) {
    heap.begin();
    const std::uint64_t before = minor_faults();
    iterate();
    sum += i < kSettling ? 0 : static_cast<double>(minor_faults() - before);
    heap.end();
  }
  return sum / kMeasured;
}

void run() {
  HeapPages::keep_heap();
  for (const std::uint64_t wanted : {0U, 100U, 1000U, 3000U, 5000U}) {
    fmt::print("wanted {:>5}, seen {:>7.1f} an iteration\n", wanted,
               faults_of_an_iteration(wanted));
  }
}

}  // namespace
}  // namespace understudy::replayer

int main() {
  understudy::replayer::run();
}
