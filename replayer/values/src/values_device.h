#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"
#include "replayer/values/values.h"

namespace understudy::replayer {

/// Fills a tensor by its device's own kernels, without a copy from the host. Returns true if it
/// did, which needs a float tensor without holes and a rule that is the same for all elements
/// (zeros, constant, uniform, normal). The distribution equals fill_tensor's on the CPU, but the
/// numbers differ; they are equal for equal states of `generator`.
[[nodiscard]] bool fill_on_device(const at::Tensor& tensor, const et_schema::ValueRule& rule,
                                  at::Generator generator);

/// Runs scan() on the tensor's device, for dtypes as wide as an integer type. Copies little to the
/// host; temporaries hold at most 2^24 elements. Subnormal numbers are not searched, since GPUs
/// compute with them at full speed. Returns nothing for other dtypes.
[[nodiscard]] std::optional<ValueHealth> scan_on_device(const at::Tensor& tensor);

/// The layout of a floating type's bits, read as a signed integer of its width.
struct FloatBits {
  at::ScalarType integer;
  std::int64_t magnitude;  ///< all bits but the sign
  std::int64_t infinity;   ///< exponent all ones, fraction 0
  std::int64_t normal;     ///< smallest normal number
};
/// Returns nothing for 8-bit dtypes and for dtypes that are not floats.
[[nodiscard]] std::optional<FloatBits> float_bits(at::ScalarType dtype);

/// Returns the health of an 8-bit float tensor from the set of its codes. Returns nothing if
/// `dtype` is not an 8-bit float.
[[nodiscard]] std::optional<ValueHealth> health_of_codes(at::ScalarType dtype,
                                                         const std::array<bool, 256>& seen);

}  // namespace understudy::replayer
