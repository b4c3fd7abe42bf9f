#pragma once

#include <cstdint>
#include <string>

#include "et_schema/model/program.h"
#include "replayer/bind/externals.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Runs one iteration from the tensors' first content with freshly seeded random generators, and
/// returns 64 bits of each operator's results (docs/compose.md, "replay --checksums"): a line for
/// each call in order, then a line for each tensor from before the step that the step changes, by
/// storage. Afterwards the externals have their first content again.
[[nodiscard]] std::string take_checksums(const et_schema::Program& program, BoundProgram& bound,
                                         Machine& machine, Externals& externals, c10::Device device,
                                         std::uint64_t seed);

}  // namespace understudy::replayer
