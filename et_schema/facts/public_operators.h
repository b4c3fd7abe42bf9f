#pragma once

#include <span>
#include <string_view>

namespace understudy::et_schema {

/// Returns the operators that releases of PyTorch, fbgemm, torchvision and torchaudio register
/// under a name without overload ("aten::add"): a line per overload. A line is the whole schema,
/// with "int" for "SymInt", if the pinned releases have the operator and it can be called;
/// otherwise only the name. scripts/checks/public_operators generates the list.
[[nodiscard]] std::span<const std::string_view> public_operators(std::string_view op);

/// Returns true if an operator has this name: "aten::add.Tensor", or "aten::add" if the overload is
/// unknown. Other names and overloads in these namespaces are custom operators.
[[nodiscard]] bool is_public_operator(std::string_view name);

/// Returns true if the C++ libraries of the pinned LibTorch have an operator of this name, with any
/// overload: "aten::add".
[[nodiscard]] bool is_in_libtorch(std::string_view op);

/// Returns true if an operator changes the layout of the tensor that it writes, but not its
/// elements: "aten::transpose_", whose other form returns a view, and operators without another
/// form. LibTorch tags most of them `inplace_view`.
[[nodiscard]] bool lays_out_in_place(std::string_view op);

}  // namespace understudy::et_schema
