#pragma once

#include <string_view>

namespace understudy::et_schema {

/// "aten::add_.Tensor" → "add".
[[nodiscard]] std::string_view base_name(std::string_view op);

/// Whether an argument of this name is a size.
[[nodiscard]] bool is_size_argument(std::string_view name);

}  // namespace understudy::et_schema
