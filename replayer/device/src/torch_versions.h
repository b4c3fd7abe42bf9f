#pragma once

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "loaded_function.h"

/// What differs between the versions of LibTorch that the replayer builds with.
namespace understudy::replayer {

/// Returns the stream's handle in its platform's library, which LibTorch itself tells since 2.11;
/// null if nothing tells it.
template <typename Stream>
void* native_handle(const Stream& stream) {
  if constexpr (requires { stream.native_handle(); }) {
    return stream.native_handle();
  } else {
    auto* const tell = loaded_function<void*(const Stream&)>("_ZNK3c104cuda10CUDAStream6streamEv");
    return tell == nullptr ? nullptr : tell(stream);
  }
}

/// Returns the current device's free bytes, which its allocator tells since 2.10. Nothing if they
/// are not known.
template <typename Allocator>
std::optional<std::uint64_t> free_bytes(Allocator& allocator, c10::DeviceIndex device) {
  if constexpr (requires { allocator.getMemoryInfo(device); }) {
    return allocator.getMemoryInfo(device).first;
  } else {
    std::size_t free = 0;
    std::size_t total = 0;
    auto* const tell = loaded_function<int(std::size_t*, std::size_t*)>("cudaMemGetInfo");
    return tell != nullptr && tell(&free, &total) == 0 ? std::optional(free) : std::nullopt;
  }
}

// The precision of float32 by library and operator: texts until 2.9.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 10
inline std::string float32_precision(const std::string& library, const std::string& op) {
  return at::globalContext().float32Precision(library, op);
}
inline void set_float32_precision(const std::string& library, const std::string& op,
                                  const std::string& text) {
  at::globalContext().setFloat32Precision(library, op, text);
}
#else
inline std::string float32_precision(const std::string& library, const std::string& op) {
  return at::precision2str(
      at::globalContext().float32Precision(at::str2backend(library), at::str2op(op)));
}
inline void set_float32_precision(const std::string& library, const std::string& op,
                                  const std::string& text) {
  at::globalContext().setFloat32Precision(at::str2backend(library), at::str2op(op),
                                          at::str2precision(text));
}
#endif

}  // namespace understudy::replayer
