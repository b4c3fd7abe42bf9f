#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>

#include "et_schema/base/machine_memory.h"

namespace understudy::replayer {

/// Storages of at least this size are mapped on demand: only pages that are touched take memory.
inline constexpr std::size_t kMappedBytes = std::size_t{256} << 20U;

/// Bytes of the tensors on the CPU, counted at LibTorch's own allocator.
struct AllocatorCounts {
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

/// Puts a counting layer over LibTorch's CPU allocator, for the life of the process. Blocks still
/// come from the same place; the layer adds two atomic additions to an allocation. An allocation of
/// 64 MiB and more for which the machine has no memory throws c10::OutOfMemoryError; otherwise the
/// kernel would kill the process.
void count_cpu_allocations();
/// From here on an allocation that would make more than so many bytes live throws that, too.
void limit_cpu_allocations(std::uint64_t bytes);
[[nodiscard]] AllocatorCounts cpu_allocations();
/// Sets the peak to what is live now.
void reset_cpu_peak();

using et_schema::available_memory;

/// Zero memory of the CPU that takes pages only where it is touched. Throws Error (failed) if the
/// address space is used up.
[[nodiscard]] c10::Storage map_storage(std::size_t bytes);
/// Bytes of a mapped storage's pages that are in memory.
[[nodiscard]] std::uint64_t touched_bytes(const c10::Storage& storage);

}  // namespace understudy::replayer
