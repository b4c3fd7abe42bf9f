#pragma once

#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/trace.h"
#include "generator/link/link.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// Compiles the traces of all ranks, sorted by rank, to a benchmark. Deterministic. `links` has
/// each rank's linked profile; if empty, no instruction has recorded times. Throws Error (bad
/// input) if a trace cannot be compiled or the traces are not all ranks of one job; Error (usage)
/// for a step or subgraph that no trace has, or an invalid regular expression.
[[nodiscard]] et_schema::Bench generate(const std::vector<et_schema::Trace>& traces,
                                        const GenerateOptions& options,
                                        const std::vector<Link>& links = {});

/// Returns the rank of a trace alone: as its capture lists it, else Trace::rank, else as its name
/// or its splits tell it.
[[nodiscard]] int rank_alone(const et_schema::Trace& trace);

}  // namespace understudy::generator
