#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <string>

#include "replayer/dispatch/model_names.h"

namespace understudy::replayer {

[[nodiscard]] at::ScalarType to_scalar_type(et_schema::DType dtype);

/// Returns the replay's device for a recorded one: an accelerator of any index becomes the target,
/// "meta" stays, and all others become the CPU.
[[nodiscard]] c10::Device map_device(et_schema::Device recorded, c10::Device target);

/// The scale of quantised tensors that no replayed operator makes: traces do not record scales.
inline constexpr double kAssumedScale = 1.0 / 64;

/// Returns a tensor over existing memory with the slot's dtype, sizes and strides. `offset` is in
/// elements. The layout must be within the storage (see fits()). A quantised tensor is quantised
/// per tensor, with kAssumedScale around the middle of its range. If its elements are smaller than
/// a byte, it is quantised by its first dimension, because LibTorch supports only channels there.
[[nodiscard]] at::Tensor view_storage(const c10::Storage& storage, const et_schema::Slot& layout,
                                      std::int64_t offset);

/// Returns a new uninitialised tensor with the slot's layout. A sparse one has no elements.
[[nodiscard]] at::Tensor make_tensor(const et_schema::Slot& layout, c10::Device device);

/// Returns true if the slot's layout at `offset` is within `bytes`.
[[nodiscard]] bool fits(const et_schema::Slot& layout, std::int64_t offset, std::size_t bytes);

/// Returns "float32[64, 128]" or "float32[64, 128] strides [1, 64]", for messages.
[[nodiscard]] std::string describe(const et_schema::Slot& layout);
[[nodiscard]] std::string describe(const at::Tensor& tensor);

}  // namespace understudy::replayer
