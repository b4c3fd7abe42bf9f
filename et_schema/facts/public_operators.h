#pragma once

#include <span>
#include <string_view>

namespace understudy::et_schema {

/// What releases of PyTorch, fbgemm, torchvision and torchaudio register under a name without
/// overload, "aten::add": a line for each overload. scripts/checks/public_operators makes the list.
/// A line is the whole schema of an operator of the pinned releases that can be called, with "int"
/// for "SymInt"; of others the name alone.
[[nodiscard]] std::span<const std::string_view> public_operators(std::string_view op);

/// Whether there is an operator of this name: "aten::add.Tensor", or "aten::add" where the overload
/// is not known. Another name or overload in their namespaces is somebody's own.
[[nodiscard]] bool is_public_operator(std::string_view name);

/// Whether the C++ libraries of today's LibTorch have an operator of this name, with any overload:
/// "aten::add".
[[nodiscard]] bool is_in_libtorch(std::string_view op);

/// Whether an operator gives what it writes another layout, without touching its elements:
/// "aten::transpose_", whose other form gives a view, and those that have no other form. LibTorch
/// tags most of them `inplace_view`.
[[nodiscard]] bool lays_out_in_place(std::string_view op);

}  // namespace understudy::et_schema
