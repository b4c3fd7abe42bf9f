#include "generator/values/value_flow.h"
#include "occurrence.h"

namespace understudy::composer {

void make_values(et_schema::Program& program) {
  const std::vector<et_schema::Slot> before = program.slots;
  std::vector<bool> pinned;
  for (const et_schema::Instruction& instruction : program.instructions) {
    pinned.push_back(instruction.pinned);
  }
  generator::assign_values(program, {});
  for (std::size_t slot = 0; slot < before.size(); ++slot) {
    if (before[slot].value || before[slot].content) {
      program.slots[slot].value = before[slot].value;
      program.slots[slot].content = before[slot].content;
    }
  }
  // Whether a result depends on data was found in the origin, with all of its readers.
  for (std::size_t at = 0; at < pinned.size(); ++at) {
    program.instructions[at].pinned = program.instructions[at].pinned || pinned[at];
  }
}

}  // namespace understudy::composer
