#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "et_schema/model/gpu_use.h"

namespace understudy::replayer {

/// The GPU that "cuda" means for the process with this local rank on its host, of the `count` GPUs
/// that it sees: the one with its own number; the only one there is, since a launcher may give each
/// process one GPU; the first if nothing launched the process. None: there are fewer GPUs than
/// processes.
[[nodiscard]] std::optional<int> choose_gpu(std::optional<int> local_rank, int count);

/// The device a replay runs on, from the text of --device: "cpu", "cuda" (see choose_gpu) or
/// "cuda:N". CUDA's libraries are loaded here and not earlier, so that the programs start where
/// there are none. Throws Error (usage): not such a text, a LibTorch without CUDA, no GPU, or too
/// few of them.
[[nodiscard]] c10::Device open_device(const std::string& text, std::optional<int> local_rank);

/// Waits until everything issued to the device is done. On the CPU there is nothing to wait for.
void synchronize(c10::Device device);
/// The same for what was issued to the device's current stream.
void synchronize_stream(c10::Device device);

/// CUDA's handle of the device's current stream; null: the default stream.
[[nodiscard]] void* native_stream(c10::Device device);

/// Highest sum of live tensor bytes at the device's allocator since reset_device_peak(); 0 for the
/// CPU, whose tensors memory.h counts.
[[nodiscard]] std::uint64_t device_peak_bytes(c10::Device device);
void reset_device_peak(c10::Device device);
/// Has as many threads multiply matrices, this one among them: each gets a handle of cuBLAS, whose
/// workspace (32 MiB on Hopper) stays with the allocator. So it was in the original, where autograd
/// multiplied on a thread of its own. Nothing for the CPU.
void open_product_handles(c10::Device device, std::size_t threads);
/// Sets the counts of device_memory() to zero; peaks stay.
void reset_device_counts(c10::Device device);

/// What the device's allocator saw: peaks since reset_device_peak(), counts since
/// reset_device_counts(). Nothing for the CPU.
[[nodiscard]] std::optional<et_schema::DeviceMemory> device_memory(c10::Device device);
/// Free memory of the device; nothing for the CPU, or if the device does not tell.
[[nodiscard]] std::optional<std::uint64_t> device_free_bytes(c10::Device device);

/// Gives back to the driver what the device's allocator holds and no tensor uses.
void empty_device_cache(c10::Device device);

/// Keeps the device's current stream busy for `ms` at its highest clock, without letting the host
/// wait. False where this is impossible: on devices other than CUDA's.
bool hold_stream(c10::Device device, double ms);

/// "0000:3b:00.0"; empty for the CPU, and where the runtime does not tell.
[[nodiscard]] std::string device_pci_bus_id(c10::Device device);

/// "00112233-4455-…" as CUDA's driver tells it; an instance of a GPU (MIG) has its own. Empty for
/// the CPU, and where the driver does not tell.
[[nodiscard]] std::string device_uuid(c10::Device device);

/// Memory of the device outside its caching allocator. What is kept there beside a program's
/// tensors counts in none of their figures. Empty if none is left, and for devices other than
/// CUDA's.
[[nodiscard]] c10::Storage device_block(c10::Device device, std::size_t bytes);
/// The same from the device's caching allocator. Throws as that does.
[[nodiscard]] std::shared_ptr<void> allocator_block(c10::Device device, std::size_t bytes);

/// Copies bytes within the device's memory, on its current stream. `device` is one of CUDA's.
void copy_on_device(c10::Device device, void* to, const void* from, std::size_t bytes);
void fill_zeros_on_device(c10::Device device, void* to, std::size_t bytes);

/// Seeds the random numbers of operators (dropout, rand), on the CPU and on `device`.
void seed_generators(c10::Device device, std::uint64_t seed);

/// "cpu", "cuda:0".
[[nodiscard]] std::string device_text(c10::Device device);

}  // namespace understudy::replayer
