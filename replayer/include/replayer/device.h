#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>

#include "et_schema/gpu_use.h"

namespace understudy::replayer {

/// The device a replay runs on, from the text of --device: "cpu", "cuda" or "cuda:N". What CUDA
/// needs is loaded here and not before, so that the programs start where there is none. Throws
/// Error (usage): not such a text, a LibTorch without CUDA, no GPU or not as many.
[[nodiscard]] c10::Device open_device(const std::string& text);

/// Waits until everything issued to the device is done. Nothing to wait for on the CPU.
void synchronize(c10::Device device);
/// Waits until everything issued to the device's current stream is done; likewise.
void synchronize_stream(c10::Device device);

/// Highest sum of live tensor bytes at the device's allocator since reset_device_peak(); 0 for the
/// CPU, whose tensors memory.h counts.
[[nodiscard]] std::uint64_t device_peak_bytes(c10::Device device);
void reset_device_peak(c10::Device device);
/// Counts of device_memory() start again from zero; peaks do not.
void reset_device_counts(c10::Device device);

/// What the device's allocator saw: peaks since reset_device_peak(), counts since
/// reset_device_counts(). Nothing for the CPU.
[[nodiscard]] std::optional<et_schema::DeviceMemory> device_memory(c10::Device device);
/// Free memory of the device; nothing for the CPU, or where it does not tell.
[[nodiscard]] std::optional<std::uint64_t> device_free_bytes(c10::Device device);

/// "0000:3b:00.0"; empty for the CPU, and where the runtime does not tell.
[[nodiscard]] std::string device_pci_bus_id(c10::Device device);

/// "cpu", "cuda:0".
[[nodiscard]] std::string device_text(c10::Device device);

}  // namespace understudy::replayer
