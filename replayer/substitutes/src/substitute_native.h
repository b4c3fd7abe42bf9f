#pragma once

#include <ATen/core/stack.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// Makes a function like callBoxed: it replaces the last `count` entries of the stack by its
/// results. `run` receives the stack and the index of the first entry.
template <typename Run>
std::function<void(torch::jit::Stack&)> on_stack(std::size_t count, Run run) {
  return [count, run = std::move(run)](torch::jit::Stack& stack) {
    TORCH_CHECK(stack.size() >= count, "expected ", count, " arguments, got ", stack.size());
    const std::size_t first = stack.size() - count;
    std::vector<c10::IValue> results = run(std::as_const(stack), first);
    stack.resize(first);
    std::move(results.begin(), results.end(), std::back_inserter(stack));
  };
}

/// Returns table_reach() for fbgemm's lookups: the weights and the optimizer's states.
[[nodiscard]] std::vector<TableReach> lookup_reach(std::span<const std::string> arguments,
                                                   const torch::jit::Stack& stack);

}  // namespace understudy::replayer
