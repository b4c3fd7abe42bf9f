#pragma once

#include <string_view>

#include "et_schema/model/schema_text.h"

namespace understudy::et_schema {

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
