#pragma once

#include <cstdint>

#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Most bytes of a call's inputs that may be allocated to call an operator that cannot run on
/// "meta".
inline constexpr std::int64_t kMostTriedBytes = std::int64_t{256} << 20U;

/// Returns the tensors that a call of an operator would return. The operator is called on the meta
/// device, whose tensors have sizes, strides and a dtype but no memory. Inputs have their slots'
/// layouts at offset 0; each occurrence of a slot is a separate tensor.
///
/// An operator of kind kOp is called by its schema, as in a replay. If it has no kernel for the
/// meta device, its results come from a call on the CPU, if its inputs are not too large. Rules of
/// this folder stand in for kernels that a CPU lacks, that give other results there, or that are
/// called with large tensors. Results that depend on values are unknown (CallResults::why_not).
/// Operators with effects beyond computing (et_schema/model/operator_trust.h) are not called. A
/// kernel that does not check its arguments can still end the process.
[[nodiscard]] et_schema::CallResults results_of(const et_schema::Program& program,
                                                const et_schema::Instruction& instruction,
                                                std::int64_t most_tried_bytes = kMostTriedBytes);

}  // namespace understudy::replayer
