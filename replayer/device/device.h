#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "et_schema/model/gpu_use.h"

namespace understudy::replayer {

/// Returns the GPU that "cuda" names for the process with this local rank, of the `count` GPUs that
/// it sees. That is the GPU of the same number; the only GPU, since a launcher may assign one to
/// each process; or the first one if nothing launched the process. Returns nothing if there are
/// fewer GPUs than processes.
[[nodiscard]] std::optional<int> choose_gpu(std::optional<int> local_rank, int count);

/// Returns the device for the text of --device: "cpu", "cuda" (see choose_gpu()) or "cuda:N". Loads
/// CUDA's libraries only here, so that programs start on hosts without them. Throws Error (usage)
/// for another text, a LibTorch without CUDA, no GPU, or too few GPUs.
[[nodiscard]] c10::Device open_device(const std::string& text, std::optional<int> local_rank);

/// Waits until all work issued to the device is done. Returns at once for the CPU.
void synchronize(c10::Device device);
/// Waits until all work issued to the device's current stream is done.
void synchronize_stream(c10::Device device);

/// Returns CUDA's handle of the device's current stream; null is the default stream.
[[nodiscard]] void* native_stream(c10::Device device);

/// Returns the peak of live tensor bytes in the device's allocator since reset_device_peak().
/// Returns 0 for the CPU, whose tensors memory.h counts.
[[nodiscard]] std::uint64_t device_peak_bytes(c10::Device device);
void reset_device_peak(c10::Device device);
/// Multiplies matrices on this many threads, the caller's included. Each thread creates a cuBLAS
/// handle, whose workspace (32 MiB on Hopper) the allocator keeps. In the original, autograd's
/// thread likewise had a handle of its own. Does nothing on the CPU.
void open_product_handles(c10::Device device, std::size_t threads);
/// Sets the counts of device_memory() to zero; peaks stay.
void reset_device_counts(c10::Device device);

/// Returns the device allocator's peaks since reset_device_peak() and counts since
/// reset_device_counts(). Returns nothing for the CPU.
[[nodiscard]] std::optional<et_schema::DeviceMemory> device_memory(c10::Device device);
/// Returns the device's free memory. Returns nothing for the CPU, or if the device does not report
/// it.
[[nodiscard]] std::optional<std::uint64_t> device_free_bytes(c10::Device device);

/// Releases the unused memory of the device's allocator to the driver.
void empty_device_cache(c10::Device device);

/// Keeps the device's current stream busy without blocking the host, for at least `ms`
/// milliseconds. Returns false if the device is not CUDA's, or LibTorch has no such kernel.
bool hold_stream(c10::Device device, double ms);

/// Returns the PCI bus id, "0000:3b:00.0". Empty for the CPU, or if the runtime does not report it.
[[nodiscard]] std::string device_pci_bus_id(c10::Device device);

/// Returns the UUID from CUDA's driver, "00112233-4455-…"; an instance of a GPU (MIG) has its own.
/// Empty for the CPU, or if the driver does not report it.
[[nodiscard]] std::string device_uuid(c10::Device device);

/// Allocates device memory outside of the caching allocator, so that it does not count as tensors'
/// memory. Empty if memory is exhausted, or if the device is not CUDA's.
[[nodiscard]] c10::Storage device_block(c10::Device device, std::size_t bytes);

/// Copies bytes within the memory of a CUDA device, on its current stream.
void copy_on_device(c10::Device device, void* to, const void* from, std::size_t bytes);
void fill_zeros_on_device(c10::Device device, void* to, std::size_t bytes);

/// Seeds the generators of random operators (dropout, rand), on the CPU and on `device`.
void seed_generators(c10::Device device, std::uint64_t seed);

/// Returns "cpu", "cuda:0", ….
[[nodiscard]] std::string device_text(c10::Device device);

}  // namespace understudy::replayer
