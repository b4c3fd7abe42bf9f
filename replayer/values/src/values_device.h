#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

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

/// scan() by the tensor's device, of dtypes whose bits an integer of the same width holds; one
/// small copy to the host; subnormal numbers of any dtype count. Takes memory for 2^24 elements of
/// it. Another dtype: nothing.
[[nodiscard]] std::optional<ValueHealth> scan_on_device(const at::Tensor& tensor);

}  // namespace understudy::replayer
