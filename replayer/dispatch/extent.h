#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace understudy::replayer {

/// Whether an operator's results are what its arguments say of sizes and strides, or show a storage
/// that it is given: LibTorch does not check all of these (_reshape_alias, custom views).
[[nodiscard]] bool takes_layout(const c10::FunctionSchema& schema);

/// Whether a value on the stack is a nested tensor, or a list that holds one. LibTorch lets nobody
/// ask such a tensor for its sizes, so no replay goes on with one.
[[nodiscard]] bool has_nested(const torch::jit::Stack& stack);

/// Whether a value on the stack is a tensor that other tensors describe, which operators can change
/// (sparse ones, quantised by channel), or a list that holds one.
[[nodiscard]] bool has_described(const torch::jit::Stack& stack);

/// Throws Error (bad input) if a tensor on the stack, or a part of it, reaches beyond its storage,
/// or names elements outside of its sizes.
void refuse_outside(const torch::jit::Stack& stack, std::string_view op,
                    std::optional<std::uint64_t> node);

}  // namespace understudy::replayer
