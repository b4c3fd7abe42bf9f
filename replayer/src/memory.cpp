#include "replayer/memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "et_schema/error.h"

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
  live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(data)),
                       std::memory_order_relaxed);
  c10::free_cpu(data);
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

/// The context of a block is the block itself, so that LibTorch's raw allocations work as well. Its
/// size at the end of its life is the C library's: a header of our own would move every block.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes >= kCheckedBytes) {
      refuse_what_does_not_fit(bytes);
    }
    void* data = c10::alloc_cpu(bytes);
    if (data != nullptr) {
      count(static_cast<std::int64_t>(malloc_usable_size(data)));
    }
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

std::optional<std::uint64_t> first_number(const std::string& file, const std::string& key) {
  std::ifstream stream(file);
  std::string word;
  while (stream >> word) {
    if (key.empty() || word == key) {
      std::uint64_t number = 0;
      if (key.empty()) {
        return word == "max" ? std::nullopt : std::optional(std::stoull(word));
      }
      return stream >> number ? std::optional(number) : std::nullopt;
    }
  }
  return std::nullopt;
}

struct Mapping {
  void* data = nullptr;
  std::size_t bytes = 0;
};

void unmap(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  munmap(mapping->data, mapping->bytes);
}

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

std::optional<std::uint64_t> available_memory() {
  constexpr std::uint64_t kKibibyte = 1024;
  std::optional<std::uint64_t> available = first_number("/proc/meminfo", "MemAvailable:");
  if (available) {
    *available *= kKibibyte;
  }
  const auto limit = first_number("/sys/fs/cgroup/memory.max", "");
  const auto used = first_number("/sys/fs/cgroup/memory.current", "");
  if (limit && used) {
    // File pages that nobody needs count as used, but are given back when memory gets short.
    const std::uint64_t cached =
        first_number("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0);
    const std::uint64_t needed = *used - std::min(*used, cached);
    const std::uint64_t rest = *limit - std::min(*limit, needed);
    available = available ? std::min(*available, rest) : rest;
  }
  return available;
}

c10::Storage map_storage(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw et_schema::run_failed(
        "out of memory: a table could not be mapped",
        {.file = {},
         .rank = {},
         .node = {},
         .field = {},
         .expected = fmt::format("{} bytes of address space", bytes),
         .got = std::strerror(errno),
         .hint = "Lift the limit on address space (ulimit -v), or replay fewer ranks on this "
                 "machine."});
  }
  // A huge page would take 2 MiB for one row of a table.
  madvise(data, bytes, MADV_NOHUGEPAGE);
  auto mapping = std::make_unique<Mapping>(Mapping{data, bytes});
  c10::DataPtr pointer(data, mapping.release(), &unmap, c10::Device(c10::kCPU));
  return {c10::Storage::use_byte_size_t(), bytes, std::move(pointer), nullptr, false};
}

std::uint64_t touched_bytes(const c10::Storage& storage) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((storage.nbytes() + page - 1) / page);
  if (mincore(storage.mutable_data(), storage.nbytes(), resident.data()) != 0) {
    return 0;
  }
  const auto touched = std::count_if(resident.begin(), resident.end(),
                                     [](unsigned char flags) { return (flags & 1U) != 0; });
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(touched) * page, storage.nbytes());
}

}  // namespace understudy::replayer
