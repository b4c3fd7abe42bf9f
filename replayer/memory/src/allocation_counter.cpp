#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

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

/// Address space without rights, with room between blocks. A block that is free serves tensors of
/// the same size, which spares the faults of fresh memory, or its part is never used again.
class GuardedBlocks {
 public:
  /// Returns a block that ends at memory without rights; null if none can be made.
  void* allocate(std::size_t bytes) {
    constexpr std::size_t kApart = std::size_t{16} << 20U;
    const std::lock_guard lock(mutex_);
    if (const auto spare = spare_.find(bytes); spare != spare_.end()) {
      std::byte* const block = spare->second;
      spare_.erase(spare);
      spare_bytes_ -= pages(bytes);
      return block;
    }
    if (begin_ == nullptr || bytes == 0 || bytes > kBytes || used_ + pages(bytes) > kBytes ||
        ::mprotect(begin_ + used_, pages(bytes), PROT_READ | PROT_WRITE) != 0) {
      return nullptr;
    }
    // Aligned as a tensor's elements, at most as LibTorch's blocks, it ends at the page's end.
    constexpr std::size_t kAligned = 64;
    const std::size_t aligned = std::min(bytes & (~bytes + 1), kAligned);
    std::byte* const block = begin_ + used_ + (pages(bytes) - bytes) / aligned * aligned;
    used_ += pages(bytes) + kApart;
    bytes_[block] = bytes;
    return block;
  }
  /// Returns nothing for other memory.
  std::optional<std::size_t> bytes_of(const void* block) {
    if (begin_ == nullptr || block < begin_ || block >= begin_ + kBytes) {
      return std::nullopt;
    }
    const std::lock_guard lock(mutex_);
    return bytes_.at(block);
  }
  void free(void* block) {
    constexpr std::size_t kMostSpare = std::size_t{1} << 30U;
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = bytes_.at(block);
    if (spare_bytes_ + pages(bytes) <= kMostSpare) {
      spare_bytes_ += pages(bytes);
      spare_.emplace(bytes, static_cast<std::byte*>(block));
    } else {
      give_back(block);
    }
  }
  /// Returns the memory of free blocks to the system.
  void trim() {
    const std::lock_guard lock(mutex_);
    for (const auto& [bytes, block] : spare_) {
      give_back(block);
    }
    spare_.clear();
    spare_bytes_ = 0;
  }

 private:
  void give_back(void* block) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block) / page_bytes_ * page_bytes_;
    map(reinterpret_cast<void*>(begin), pages(bytes_.at(block)), MAP_FIXED);
    bytes_.erase(block);
  }

  static constexpr std::size_t kBytes = std::size_t{16} << 40U;

  static std::byte* map(void* at, std::size_t bytes, int flags) {
    void* const memory =
        ::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  }
  [[nodiscard]] std::size_t pages(std::size_t bytes) const {
    return (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  }

  const std::size_t page_bytes_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::byte* begin_ = map(nullptr, kBytes, 0);
  std::size_t used_ = kBytes / 4;
  std::mutex mutex_;
  std::unordered_map<const void*, std::size_t> bytes_;
  std::unordered_multimap<std::size_t, std::byte*> spare_;
  std::size_t spare_bytes_ = 0;
};

std::atomic<GuardedBlocks*> guarded_blocks = nullptr;  // never freed: LibTorch may keep blocks
std::atomic<bool> is_guarding = false;

void release(void* data) {
  if (data == nullptr) {
    return;
  }
  GuardedBlocks* const guards = guarded_blocks;
  const auto guarded = guards != nullptr ? guards->bytes_of(data) : std::nullopt;
  const std::size_t bytes = guarded ? *guarded : malloc_usable_size(data);
  live_bytes.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  c10::profiledCPUMemoryReporter().Delete(data);
  if (guarded) {
    guards->free(data);
  } else if (!takes_over(data, bytes)) {
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
    // Gloo works below a capture with recording off, also on its threads, and takes copies there.
    if (!at::isRecordFunctionEnabled()) {
      return c10::GetDefaultCPUAllocator()->allocate(bytes);
    }
    void* data = is_guarding ? guarded_blocks.load()->allocate(bytes) : nullptr;
    const bool is_guarded = data != nullptr;
    data = is_guarded ? data : allocate_block(bytes);
    if (data != nullptr) {
      count(static_cast<std::int64_t>(is_guarded ? bytes : malloc_usable_size(data)));
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

GuardedAllocations::GuardedAllocations() {
  if (guarded_blocks == nullptr) {
    guarded_blocks = std::make_unique<GuardedBlocks>().release();
  }
  is_guarding = true;
}

GuardedAllocations::~GuardedAllocations() {
  is_guarding = false;
  guarded_blocks.load()->trim();
}

constexpr static std::uint8_t kPriority = 1;  // above LibTorch's own, 0

void count_cpu_allocations() {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, kPriority);
}

UncountedAllocations::UncountedAllocations() {
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), kPriority);
}

void limit_cpu_allocations(std::uint64_t bytes) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  most_bytes = static_cast<std::int64_t>(std::min(bytes, kMost));
}

/// Returns a limit of what the process has and so many bytes more.
static rlim_t limited(rlim_t present, std::uint64_t bytes) {
  std::uint64_t pages = 0;
  std::ifstream counts("/proc/self/statm");
  for (int field = 0; field < 6; ++field) {
    counts >> pages;  // the sixth is of data and stack
  }
  const std::uint64_t now = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min<rlim_t>(present, now + bytes);
}

OwnMemoryLimit::OwnMemoryLimit(std::uint64_t bytes) {
  ::getrlimit(RLIMIT_DATA, &before_);
  const rlimit limit{limited(before_.rlim_cur, bytes), before_.rlim_max};
  ::setrlimit(RLIMIT_DATA, &limit);
}

void limit_own_memory(std::uint64_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = limit.rlim_max = limited(limit.rlim_max, bytes);
  ::setrlimit(RLIMIT_DATA, &limit);
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
