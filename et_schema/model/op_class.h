#pragma once

#include <span>
#include <string_view>

#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {

/// Returns an operator's class in reports, inferred from its name: one of op_classes(), or
/// "elementwise" if the name shows no other. See docs/metrics.md.
[[nodiscard]] std::string_view op_class(std::string_view op);

/// Returns the class of a device's kernel, copy or fill by its name: one of op_classes(), or
/// "other" if the name shows none, as for hand-written kernels. Inductor's Triton kernels are
/// "compiled". Knows the names of CUDA's and ROCm's libraries and of PyTorch's own kernels. See
/// docs/metrics.md.
[[nodiscard]] std::string_view kernel_class(std::string_view kernel);

/// Returns true if the kernel multiplies float32 as TF32 on tensor cores: cuBLAS's and cuDNN's
/// "…_tf32f32_…", CUTLASS's "…_s1688gemm_…".
[[nodiscard]] bool multiplies_tf32(std::string_view kernel);

/// Returns all classes: "matmul", "convolution", …. Kernels of compiled graphs are "compiled".
[[nodiscard]] std::span<const std::string_view> op_classes();

/// Returns true if an operator, named with or without overload, returns uninitialized memory:
/// aten::empty and its variants (empty_like, new_empty_strided, _empty_affine_quantized,
/// prims::empty_permuted). Decides by name, since traces and benchmarks are also read without
/// LibTorch. Emitted projects' bench/observe.py repeats the rule, and tests compare the two.
[[nodiscard]] constexpr bool allocates_memory(std::string_view op) {
  std::string_view name = without_namespace(op);
  for (const std::string_view beginning : {"_", "new_"}) {
    name.remove_prefix(name.starts_with(beginning) ? beginning.size() : 0);
  }
  return name == "empty" || name.starts_with("empty_");
}

}  // namespace understudy::et_schema
