#pragma once

#include <string_view>

namespace understudy::generator {

/// Whether this is the label around a graph that inductor compiled, for the forward or the backward
/// pass. What runs below it without a node of its own are the graph's fused kernels.
[[nodiscard]] inline bool is_graph_call(std::string_view name) {
  return name.starts_with("## Call CompiledFxGraph");
}

/// Whether this is the label around a frame that Dynamo compiled.
[[nodiscard]] inline bool is_compiled_region(std::string_view name) {
  return name.starts_with("Torch-Compiled Region");
}

}  // namespace understudy::generator
