#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Smallest and largest element of an integral input. The observer records them only on request.
struct CapturedRange {
  std::size_t tensor = 0;  ///< index among all input tensors, undefined ones included
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// By node id.
using CapturedRanges = std::unordered_map<std::uint64_t, std::vector<CapturedRange>>;

/// Parses {"0":[0,9],"2":[1,1]}. Stops at an entry of another form.
[[nodiscard]] std::vector<CapturedRange> parse_ranges(std::string_view json);
[[nodiscard]] CapturedRanges captured_ranges(const et_schema::Trace& trace);

/// Returns true for the label around a graph that inductor compiled, forward or backward. Work
/// below it without a node of its own consists of the graph's fused kernels.
[[nodiscard]] inline bool is_graph_call(std::string_view name) {
  return name.starts_with("## Call CompiledFxGraph");
}

/// Returns true for the label around a frame that Dynamo compiled.
[[nodiscard]] inline bool is_compiled_region(std::string_view name) {
  return name.starts_with("Torch-Compiled Region");
}

}  // namespace understudy::generator
