#include "emitter/outline/phases.h"

#include "et_schema/model/schema_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::Program;

bool is_backward(const Instruction& instruction) {
  return instruction.name.find("backward") != std::string::npos;
}

bool changes_external(const Program& program, const Instruction& instruction) {
  if (!instruction.schema) {
    return false;
  }
  const std::string& schema = program.schemas[*instruction.schema];
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    if (!et_schema::argument_is_written(schema, i)) {
      continue;
    }
    bool found = false;
    et_schema::for_each_slot({instruction.args[i]}, [&](et_schema::SlotId slot) {
      found = found || program.slots[slot].external;
    });
    if (found) {
      return true;
    }
  }
  return false;
}

}  // namespace

Phases find_phases(const Program& program) {
  const auto& instructions = program.instructions;
  Phases phases{instructions.size(), instructions.size()};
  std::size_t last = 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (is_backward(instructions[i])) {
      phases.backward = std::min(phases.backward, i);
      last = i;
    }
  }
  if (phases.backward == instructions.size()) {
    return phases;
  }
  const bool is_seeded =
      phases.backward > 0 && instructions[phases.backward - 1].name.starts_with("aten::ones_like");
  phases.backward -= is_seeded ? 1 : 0;
  for (std::size_t i = last + 1; i < instructions.size(); ++i) {
    if (changes_external(program, instructions[i])) {
      phases.update = i;
      break;
    }
  }
  return phases;
}

std::string_view phase_name(const Phases& phases, std::size_t instruction) {
  return instruction < phases.backward ? "forward"
         : instruction < phases.update ? "backward"
                                       : "update";
}

}  // namespace understudy::emitter
