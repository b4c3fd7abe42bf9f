#pragma once

#include <c10/core/Storage.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>

#include "et_schema/base/machine_memory.h"

namespace understudy::replayer {

/// Storages of at least this size are mapped on demand: only touched pages use memory.
inline constexpr std::size_t kMappedBytes = std::size_t{256} << 20U;

/// Bytes of the tensors on the CPU, counted at LibTorch's own allocator.
struct AllocatorCounts {
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

/// Adds a counting layer over LibTorch's CPU allocator, until the process ends. The allocator's
/// blocks do not change; an allocation costs two more atomic additions. What a thread allocates
/// while it records no operators, as below at::RecordFunctionGuard, is not of the step, and not
/// counted: copies of a communication backend, checksums of results. An allocation of 64 MiB or
/// more that exceeds the machine's memory throws c10::OutOfMemoryError; otherwise the kernel would
/// kill the process.
void count_cpu_allocations();
/// Lifts that layer while one exists, for calls of microseconds that follow an eviction of caches:
/// there it takes a twentieth of a small operator's time, in a step next to none.
class UncountedAllocations {
 public:
  UncountedAllocations();
  ~UncountedAllocations() { count_cpu_allocations(); }
  UncountedAllocations(const UncountedAllocations&) = delete;
  UncountedAllocations& operator=(const UncountedAllocations&) = delete;
};
/// From here on, an allocation that raises live bytes above `bytes` throws c10::OutOfMemoryError.
void limit_cpu_allocations(std::uint64_t bytes);
/// From here on, the process may map so many bytes more for itself: tensors, lists, what libraries
/// need beside. More fails with std::bad_alloc.
void limit_own_memory(std::uint64_t bytes);
/// Does this while it exists.
class OwnMemoryLimit {
 public:
  explicit OwnMemoryLimit(std::uint64_t bytes);
  ~OwnMemoryLimit() { ::setrlimit(RLIMIT_DATA, &before_); }
  OwnMemoryLimit(const OwnMemoryLimit&) = delete;
  OwnMemoryLimit& operator=(const OwnMemoryLimit&) = delete;

 private:
  rlimit before_{};
};
[[nodiscard]] AllocatorCounts cpu_allocations();
/// Sets the peak to the live bytes.
void reset_cpu_peak();

/// While one exists, each block of the counting layer ends where memory without rights begins, and
/// lies megabytes away from all others: an operator that reads or writes beyond its tensors crashes
/// there, or reaches other such blocks. Has no effect on a machine that limits the address space.
class GuardedAllocations {
 public:
  GuardedAllocations();
  ~GuardedAllocations();
  GuardedAllocations(const GuardedAllocations&) = delete;
  GuardedAllocations& operator=(const GuardedAllocations&) = delete;
};

using et_schema::available_memory;

/// Maps zeroed CPU memory whose pages are allocated when touched. Throws Error (failed) if the
/// address space is exhausted.
[[nodiscard]] c10::Storage map_storage(std::size_t bytes);
/// Returns the bytes of a mapped storage's pages that are in memory.
[[nodiscard]] std::uint64_t touched_bytes(const c10::Storage& storage);

}  // namespace understudy::replayer
