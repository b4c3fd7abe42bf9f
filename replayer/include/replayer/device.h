#pragma once

#include <c10/core/Device.h>

#include <string>

namespace understudy::replayer {

/// The device a replay runs on, from the text of --device: "cpu", "cuda" or "cuda:N". What CUDA
/// needs is loaded here and not before, so that the programs start where there is none. Throws
/// Error (usage): not such a text, a LibTorch without CUDA, no GPU or not as many.
[[nodiscard]] c10::Device open_device(const std::string& text);

/// Waits until everything issued to the device is done. Nothing to wait for on the CPU.
void synchronize(c10::Device device);

/// "cpu", or "cuda:0" and what the driver calls it.
[[nodiscard]] std::string device_text(c10::Device device);

}  // namespace understudy::replayer
