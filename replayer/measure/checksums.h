#pragma once

#include <cstdint>
#include <string>

#include "et_schema/model/program.h"
#include "replayer/bind/externals.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Runs one iteration from the tensors' initial content with newly seeded random generators.
/// Returns 64-bit checksums (docs/compose.md, "replay --checksums"): a line for each call in order,
/// then a line for each external tensor that the step changes, ordered by storage. Restores the
/// externals' initial content.
[[nodiscard]] std::string take_checksums(const et_schema::Program& program, BoundProgram& bound,
                                         Machine& machine, Externals& externals, c10::Device device,
                                         std::uint64_t seed);

}  // namespace understudy::replayer
