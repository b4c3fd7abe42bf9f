#pragma once

#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/trace.h"
#include "generator/link/link.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// Compiles the traces of all ranks, sorted by rank, to a benchmark. Deterministic. `links` has
/// each rank's linked profile; if empty, no instruction has recorded times. Throws Error: bad input
/// (a trace that cannot be compiled; ranks that are not all of one job), usage (a step or subgraph
/// that no trace has, an invalid regular expression).
[[nodiscard]] et_schema::Bench generate(const std::vector<et_schema::Trace>& traces,
                                        const GenerateOptions& options,
                                        const std::vector<Link>& links = {});

}  // namespace understudy::generator
