#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <string>

#include "et_schema/model/program.h"

namespace understudy::replayer {

[[nodiscard]] at::ScalarType to_scalar_type(et_schema::DType dtype);

/// Where something recorded on a device lives in a replay: what was on an accelerator goes to the
/// target, whatever its index was; tensors without memory stay so; the rest stays on the CPU.
[[nodiscard]] c10::Device map_device(et_schema::Device recorded, c10::Device target);

/// The scale of quantised tensors that no operator here made: no trace tells a quantised tensor's.
inline constexpr double kAssumedScale = 1.0 / 64;

/// A tensor over existing memory with the slot's dtype, sizes and strides. `offset` is in elements.
/// The caller sees to it that the layout lies within the storage (see fits()). A quantised one is
/// per tensor, of kAssumedScale around the middle of its numbers; of less than a byte an element,
/// which LibTorch knows by channel alone, by its first dimension.
[[nodiscard]] at::Tensor view_storage(const c10::Storage& storage, const et_schema::Slot& layout,
                                      std::int64_t offset);

/// A tensor of its own in the slot's layout; its content is not set. A sparse one has no elements.
[[nodiscard]] at::Tensor make_tensor(const et_schema::Slot& layout, c10::Device device);

/// Whether the slot's layout, put at `offset`, lies within `bytes`.
[[nodiscard]] bool fits(const et_schema::Slot& layout, std::int64_t offset, std::size_t bytes);

/// "float32[64, 128]" and "float32[64, 128] strides [1, 64]", for messages.
[[nodiscard]] std::string describe(const et_schema::Slot& layout);
[[nodiscard]] std::string describe(const at::Tensor& tensor);

}  // namespace understudy::replayer
