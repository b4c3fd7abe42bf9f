#include "refused.h"

#include <cstddef>

#include "call_text.h"
#include "comm_text.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/operator_facts.h"
#include "et_schema/model/program.h"
#include "tensors_text.h"

namespace understudy::emitter {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

bool means_nothing(std::string_view name) {
  return !et_schema::operator_facts(name).not_on_cpu.empty();
}

Showing find_showing(const Program& program, Dialect dialect) {
  Showing showing;
  std::vector<std::string>& refused = showing.refused;
  refused.resize(program.instructions.size());
  std::vector<bool> is_lost(program.slots.size());  ///< slots that can be neither computed nor made
  Calls used;
  CallWriter calls(program, dialect, {uses_accelerator(program)}, used);
  const auto any_tensor = [] { return std::string("x"); };
  for (std::size_t at = 0; at < refused.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
      if (program.slots[slot].external && !can_be_made(program.slots[slot])) {
        refused[at] =
            "a tensor from before the step that is sparse, quantised or of an unknown type";
      }
      if (is_lost[slot]) {
        refused[at] = "it reads what another operator that is missing would have made";
      }
    });
    try {
      if (!refused[at].empty()) {
        // It has its reason.
      } else if (instruction.kind == InstructionKind::kOp && !means_nothing(instruction.name)) {
        showing.boxed += calls.write(instruction, any_tensor).is_boxed ? 1U : 0U;
      } else if (instruction.comm && instruction.kind != InstructionKind::kWait) {
        static_cast<void>(communicate_text(program, instruction, dialect,
                                           [](SlotId) { return std::string("x"); }));
      } else if (instruction.kind == InstructionKind::kKernel) {
        refused[at] = et_schema::kNoKernelCode;
      } else if (instruction.kind == InstructionKind::kNative) {
        refused[at] = "a label that did work and shows no operator";
      }
    } catch (const CannotShow& cannot) {
      refused[at] = cannot.reason;
    }
    et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
      is_lost[slot] = !refused[at].empty() && !program.slots[slot].external &&
                      !can_be_made(program.slots[slot]);
    });
  }
  return showing;
}

}  // namespace understudy::emitter
