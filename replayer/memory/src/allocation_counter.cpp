#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>

#include "replayer/memory/heap.h"
#include "replayer/memory/memory.h"

namespace understudy::replayer {
namespace {

constexpr std::size_t kCheckedBytes = std::size_t{64} << 20U;

std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

void count(std::int64_t bytes) {
  const std::int64_t live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

void release(void* data) {
  if (data == nullptr) {
    return;
  }
  const std::size_t bytes = malloc_usable_size(data);
  live_bytes.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  c10::profiledCPUMemoryReporter().Delete(data);
  if (!takes_over(data, bytes)) {
    c10::free_cpu(data);
  }
}

void refuse_what_does_not_fit(std::size_t bytes) {
  const std::optional<std::uint64_t> available = available_memory();
  if (available && bytes > *available) {
    throw c10::OutOfMemoryError(
        {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
        fmt::format("out of memory: {} bytes asked for, {} bytes live in tensors, {} bytes free "
                    "on the machine",
                    bytes, live_bytes.load(), *available));
  }
}

/// The context of a block is the block itself, so that LibTorch's raw allocations work as well. At
/// the end of its life its size comes from the C library: a header would move every block.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes >= kCheckedBytes) {
      refuse_what_does_not_fit(bytes);
    }
    void* data = allocate_block(bytes);
    if (data != nullptr) {
      count(static_cast<std::int64_t>(malloc_usable_size(data)));
      c10::profiledCPUMemoryReporter().New(data, bytes);  // LibTorch's own allocator does the same
    }
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void count_cpu_allocations() {
  static CountingAllocator allocator;
  constexpr std::uint8_t kPriority = 1;  // above LibTorch's own, which has 0
  c10::SetCPUAllocator(&allocator, kPriority);
}

AllocatorCounts cpu_allocations() {
  const auto positive = [](std::int64_t value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
  };
  return {positive(live_bytes.load()), positive(peak_bytes.load())};
}

void reset_cpu_peak() {
  peak_bytes.store(live_bytes.load());
}

}  // namespace understudy::replayer
