#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace understudy::replayer {

/// Returns true if the results of an operator get their sizes and strides from its arguments, or
/// refer to a storage passed to it. LibTorch does not check all of these (_reshape_alias, custom
/// views).
[[nodiscard]] bool takes_layout(const c10::FunctionSchema& schema);

/// Returns true if a value on the stack is a nested tensor or a list that holds one. LibTorch does
/// not report the sizes of such a tensor, so it cannot be replayed.
[[nodiscard]] bool has_nested(const torch::jit::Stack& stack);

/// Returns true if the stack, or a list on it, holds a tensor that is described by other tensors
/// (sparse, quantised by channel). Operators can change these other tensors.
[[nodiscard]] bool has_described(const torch::jit::Stack& stack);

/// Throws Error (bad input) if a tensor on the stack, or a part of it, exceeds its storage, or has
/// indices outside of its sizes.
void refuse_outside(const torch::jit::Stack& stack, std::string_view op,
                    std::optional<std::uint64_t> node);

}  // namespace understudy::replayer
