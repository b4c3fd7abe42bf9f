#pragma once

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Each instruction, and those in the bodies behind theirs.
template <typename Instructions, typename Visitor>
void for_each_instruction(Instructions& instructions, const Visitor& visit) {
  for (auto& instruction : instructions) {
    visit(instruction);
    for_each_instruction(instruction.body, visit);
  }
}

/// Whether the recorded operators below make all that the operator itself makes, and write what it
/// writes. Below a kernel that calls no operators (fbgemm's lookup, a recurrent layer, oneDNN's
/// convolution, randperm into a given tensor) stand allocations and what shapes them alone.
[[nodiscard]] bool body_makes_results(const Program& program, const Instruction& instruction);

}  // namespace understudy::et_schema
