#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"
#include "replayer/values/values.h"

namespace understudy::replayer {

/// Fills a tensor by its device's own kernels, without a copy from the host. True if it did: of a
/// float tensor without holes and a rule that tells no single values (zeros, constant, uniform,
/// normal). Same distribution as fill_tensor's on the CPU, other numbers; the same ones for the
/// same `generator` state.
[[nodiscard]] bool fill_on_device(const at::Tensor& tensor, const et_schema::ValueRule& rule,
                                  at::Generator generator);

/// scan() by the tensor's device: of dtypes whose bits an integer of the same width holds, and of
/// those of one byte. Small copies to the host; takes memory for 2^24 elements. A GPU computes with
/// subnormal numbers as fast as with others: they are not looked for. Another dtype: nothing.
[[nodiscard]] std::optional<ValueHealth> scan_on_device(const at::Tensor& tensor);

/// Where the exponent and the fraction of a floating type lie in its bits, read as a signed integer
/// of its width.
struct FloatBits {
  at::ScalarType integer;
  std::int64_t magnitude;  ///< all but the sign
  std::int64_t infinity;   ///< exponent all ones, fraction 0
  std::int64_t normal;     ///< smallest normal number
};
/// None of dtypes of one byte and of those that are no floats.
[[nodiscard]] std::optional<FloatBits> float_bits(at::ScalarType dtype);

/// What occurs in a tensor of one byte an element, by the 256 codes that occur. Nothing of a dtype
/// that is no such float.
[[nodiscard]] std::optional<ValueHealth> health_of_codes(at::ScalarType dtype,
                                                         const std::array<bool, 256>& seen);

}  // namespace understudy::replayer
