#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/bench.h"
#include "et_schema/trace.h"

namespace understudy::generator {

enum class Only { kAll, kCompute, kComms };

/// What part of a trace a benchmark is made of. The default is all of its first complete step.
struct GenerateOptions {
  std::optional<std::string> step = {};  ///< K of ProfilerStep#K, or "all"
  std::vector<std::string> subgraphs =
      {};  ///< only what runs below a node whose name contains one of them
  Only only = Only::kAll;
  std::optional<std::string> include = {};  ///< regular expression (ECMAScript) on operator names
  std::optional<std::string> exclude = {};
};

/// Compiles the traces of all ranks, sorted by rank, to a benchmark. Deterministic.
/// Throws Error: bad input (a trace that cannot be compiled; fewer ranks than its process groups
/// need), usage (a step or subgraph that no trace has, a regular expression that does not parse).
[[nodiscard]] et_schema::Bench generate(const std::vector<et_schema::Trace>& traces,
                                        const GenerateOptions& options);

}  // namespace understudy::generator
