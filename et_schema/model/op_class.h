#pragma once

#include <span>
#include <string_view>

#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {

/// The class of an operator in reports, told by its name: one of op_classes(), "elementwise" where
/// the name tells nothing. See docs/metrics.md.
[[nodiscard]] std::string_view op_class(std::string_view op);

/// The class of a device's kernel, copy or fill, told by its name: one of op_classes(), where
/// "compiled" are inductor's Triton kernels, or "other" where the name tells nothing, as that of a
/// hand-written kernel. Names are those of CUDA's and ROCm's libraries and of PyTorch's own
/// kernels. See docs/metrics.md.
[[nodiscard]] std::string_view kernel_class(std::string_view kernel);

/// Whether the kernel multiplies float32 as TF32, on tensor cores: cuBLAS's and cuDNN's
/// "…_tf32f32_…", CUTLASS's "…_s1688gemm_…".
[[nodiscard]] bool multiplies_tf32(std::string_view kernel);

/// "matmul", "convolution", …; "compiled" are kernels of compiled graphs.
[[nodiscard]] std::span<const std::string_view> op_classes();

/// Whether an operator, named with or without its overload, gives memory that nobody has written:
/// aten::empty and what is named after it (empty_like, new_empty_strided, _empty_affine_quantized,
/// prims::empty_permuted). By the name, since traces and benchmarks are read where no LibTorch is.
/// Emitted projects cannot include this; their bench/observe.h and observe.py say it again, and
/// tests hold them to it.
[[nodiscard]] constexpr bool allocates_memory(std::string_view op) {
  std::string_view name = without_namespace(op);
  for (const std::string_view beginning : {"_", "new_"}) {
    name.remove_prefix(name.starts_with(beginning) ? beginning.size() : 0);
  }
  return name == "empty" || name.starts_with("empty_");
}

}  // namespace understudy::et_schema
