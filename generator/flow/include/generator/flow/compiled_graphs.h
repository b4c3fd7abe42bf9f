#pragma once

#include <string_view>

namespace understudy::generator {

/// The label around a graph that inductor compiled, of the forward or the backward pass. What runs
/// below it without a node of its own are the graph's fused kernels.
[[nodiscard]] inline bool is_graph_call(std::string_view name) {
  return name.starts_with("## Call CompiledFxGraph");
}

/// The label around a frame that Dynamo compiled.
[[nodiscard]] inline bool is_compiled_region(std::string_view name) {
  return name.starts_with("Torch-Compiled Region");
}

}  // namespace understudy::generator
