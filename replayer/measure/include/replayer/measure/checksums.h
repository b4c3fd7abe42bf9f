#pragma once

#include <cstdint>
#include <string>

#include "et_schema/model/program.h"
#include "replayer/bind/externals.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Runs one iteration from the tensors' first content and random generators seeded anew, and tells
/// 64 bits of each operator's results (docs/formats.md, "Checksums"): a line an operator in order
/// of its calls, then a line for each tensor older than the step that the step changes, by storage.
/// The externals have their first content again afterwards.
[[nodiscard]] std::string take_checksums(const et_schema::Program& program, BoundProgram& bound,
                                         Machine& machine, Externals& externals, c10::Device device,
                                         std::uint64_t seed);

}  // namespace understudy::replayer
