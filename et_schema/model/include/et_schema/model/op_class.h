#pragma once

#include <span>
#include <string_view>

namespace understudy::et_schema {

/// The class of an operator in reports, told by its name: one of op_classes(), "elementwise" where
/// the name tells nothing. See docs/metrics.md.
[[nodiscard]] std::string_view op_class(std::string_view op);

/// "matmul", "convolution", …; "compiled" are kernels of compiled graphs.
[[nodiscard]] std::span<const std::string_view> op_classes();

}  // namespace understudy::et_schema
