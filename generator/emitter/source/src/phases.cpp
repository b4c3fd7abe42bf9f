#include <algorithm>

#include "data_flow.h"
#include "et_schema/facts/schema_text.h"

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
  bool found = false;
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    if (!et_schema::argument_is_written(schema, i)) {
      continue;
    }
    et_schema::for_each_slot({instruction.args[i]}, [&](et_schema::SlotId slot) {
      found = found || program.slots[slot].external;
    });
  }
  return found;
}

/// Finds the seed of the backward pass: ones without dimensions. Other operators may follow it
/// before the first one called backward, if the loss has no backward operator of its own.
std::size_t find_seed(const Program& program, std::size_t backward) {
  constexpr std::size_t kFarthest = 32;
  for (std::size_t back = 1; back <= std::min(kFarthest, backward); ++back) {
    const Instruction& instruction = program.instructions[backward - back];
    bool is_scalar = false;
    et_schema::for_each_slot(instruction.results, [&](et_schema::SlotId slot) {
      is_scalar = program.slots[slot].sizes.empty();
    });
    if (is_scalar && instruction.name.starts_with("aten::ones_like")) {
      return backward - back;
    }
  }
  return backward;
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
  phases.backward = find_seed(program, phases.backward);
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
