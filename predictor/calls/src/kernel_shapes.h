#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "et_schema/model/dtype.h"
#include "predictor/calls/call.h"

namespace understudy::predictor {

/// An operator in kernel tables: its short name, and its shape columns in the order of `values`.
struct KernelShape {
  std::string_view name;
  std::span<const std::string_view> columns;
  OperatorCall (*call)(const KernelShape& shape, DType dtype, std::span<const std::int64_t> values);
  std::string_view op;        ///< "aten::add"
  std::string_view overload;  ///< "Tensor"
};

/// Returns null if no kernel table uses the name.
[[nodiscard]] const KernelShape* find_kernel_shape(std::string_view name);

}  // namespace understudy::predictor
