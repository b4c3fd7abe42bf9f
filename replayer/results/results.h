#pragma once

#include <cstdint>

#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/program.h"

namespace understudy::replayer {

/// What the inputs of a call may hold that is made with memory, where it cannot be without.
inline constexpr std::int64_t kMostTriedBytes = std::int64_t{16} << 20U;

/// What tensors a call of an operator results in, found by calling it on the meta device: tensors
/// that have sizes, strides and a dtype but no memory. Inputs have their slots' layouts and begin
/// at offset 0; each occurrence of a slot is a tensor of its own.
///
/// An operator of kind kOp is called by its schema as a replay would. One without a kernel for the
/// meta device has its results by a rule of this room, or, where its inputs are small, of a call on
/// the CPU. Results that depend on what tensors hold are not known (CallResults::why_not).
/// Operators that do more than compute (et_schema/model/operator_trust.h) are not called. A kernel
/// that does not check its arguments may still end the process.
[[nodiscard]] et_schema::CallResults results_of(const et_schema::Program& program,
                                                const et_schema::Instruction& instruction,
                                                std::int64_t most_tried_bytes = kMostTriedBytes);

}  // namespace understudy::replayer
