#pragma once

#include <string_view>

namespace understudy::emitter {

/// Whether today's LibTorch has an operator with this very schema ("SymInt" counts as "int"), so
/// that its C++ function takes the arguments in this order and with these defaults.
[[nodiscard]] bool is_public_schema(std::string_view schema);

/// Whether today's LibTorch has an operator of this name, with any overload: "aten::add".
[[nodiscard]] bool is_in_libtorch(std::string_view name);

}  // namespace understudy::emitter
