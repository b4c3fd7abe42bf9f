#pragma once

#include <string_view>

namespace understudy::et_schema {

/// The class of an operator in reports, told by its name: "matmul", "convolution", "attention",
/// "normalization", "recurrent", "embedding", "pooling", "optimizer", "loss", "softmax",
/// "reduction", "copy", "view", "allocation", "index", "random", "sort", "communication",
/// "compiled" (kernels of compiled graphs) or, for everything else, "elementwise". See
/// docs/metrics.md.
[[nodiscard]] std::string_view op_class(std::string_view op);

}  // namespace understudy::et_schema
