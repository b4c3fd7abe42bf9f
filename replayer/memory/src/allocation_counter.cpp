#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "replayer/memory/heap.h"
#include "replayer/memory/memory.h"

namespace understudy::replayer {
namespace {

constexpr std::size_t kCheckedBytes = std::size_t{64} << 20U;

std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};
std::atomic<std::int64_t> most_bytes{std::numeric_limits<std::int64_t>::max()};

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

[[noreturn]] void refuse(std::size_t bytes, const std::string& why) {
  throw c10::OutOfMemoryError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
      fmt::format("out of memory: {} bytes asked for, {} bytes live in tensors, {}", bytes,
                  live_bytes.load(), why));
}

void refuse_what_does_not_fit(std::size_t bytes) {
  const std::int64_t most = most_bytes.load(std::memory_order_relaxed);
  const std::int64_t left = most - live_bytes.load(std::memory_order_relaxed);
  if (left < 0 || bytes > static_cast<std::uint64_t>(left)) {
    refuse(bytes, fmt::format("{} bytes allowed by --memory-limit", most));
  }
  const std::optional<std::uint64_t> available =
      bytes >= kCheckedBytes ? available_memory() : std::nullopt;
  if (available && bytes > *available) {
    refuse(bytes, fmt::format("{} bytes free on the machine", *available));
  }
}

/// The context of a block is the block itself, so that LibTorch's raw allocations work too. On
/// release, the size comes from the C library: a header would move every block.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    refuse_what_does_not_fit(bytes);
    void* data = allocate_block(bytes);
    if (data != nullptr) {
      count(static_cast<std::int64_t>(malloc_usable_size(data)));
      c10::profiledCPUMemoryReporter().New(data, bytes);  // as LibTorch's own allocator does
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
  constexpr std::uint8_t kPriority = 1;  // above LibTorch's own, 0
  c10::SetCPUAllocator(&allocator, kPriority);
}

void limit_cpu_allocations(std::uint64_t bytes) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  most_bytes = static_cast<std::int64_t>(std::min(bytes, kMost));
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
