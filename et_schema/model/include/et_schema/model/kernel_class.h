#pragma once

#include <string_view>

namespace understudy::et_schema {

/// The class of a device's kernel, copy or fill, told by its name: one of op_classes(), where
/// "compiled" are inductor's Triton kernels, or "other" where the name tells nothing, as that of a
/// hand-written kernel. Names are those of CUDA's and ROCm's libraries and of PyTorch's own
/// kernels. See docs/metrics.md.
[[nodiscard]] std::string_view kernel_class(std::string_view kernel);

}  // namespace understudy::et_schema
