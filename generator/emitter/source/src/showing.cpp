#include "showing.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "call_text.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/program.h"
#include "statement_text.h"
#include "step_parts.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

void append(const Program& program, const WhyFailing& why_failing, const Instruction& instruction,
            std::vector<Instruction>& to) {
  const bool works =
      is_found(instruction.name) && (!why_failing || why_failing(program, instruction).empty());
  if (instruction.kind != InstructionKind::kOp || works ||
      !et_schema::body_makes_results(program, instruction)) {
    to.push_back(instruction);
    return;
  }
  const std::size_t first = to.size();
  for (const Instruction& below : instruction.body) {
    append(program, why_failing, below, to);
  }
  to[first].timing = instruction.timing;  // recorded as one operator
}

}  // namespace

bool is_found(std::string_view name) {
  return et_schema::is_in_libtorch(et_schema::without_overload(name));
}

std::optional<et_schema::MappedCall> row_for(std::string_view schema) {
  if (is_found(et_schema::operator_name(schema))) {
    return {};
  }
  std::optional<et_schema::MappedCall> call = et_schema::operator_map().find(schema).call;
  return call && !call->row->is_of_benchmark ? call : std::nullopt;
}

Program with_bodies(const Program& program, const WhyFailing& why_failing) {
  Program expanded = program;
  expanded.instructions.clear();
  std::vector<std::uint32_t> places;  // by instruction, followed by the program's end
  for (const Instruction& instruction : program.instructions) {
    places.push_back(static_cast<std::uint32_t>(expanded.instructions.size()));
    append(program, why_failing, instruction, expanded.instructions);
  }
  places.push_back(static_cast<std::uint32_t>(expanded.instructions.size()));
  for (et_schema::Storage& storage : expanded.storages) {
    if (storage.held_until) {
      storage.held_until = places[std::min<std::size_t>(*storage.held_until, places.size() - 1)];
    }
  }
  return expanded;
}

bool means_nothing(std::string_view name) {
  return !et_schema::operator_facts(name).not_on_cpu.empty();
}

Showing find_showing(const Program& program, std::vector<std::string> failing) {
  Showing showing{std::move(failing)};
  std::vector<std::string>& refused = showing.refused;
  std::vector<bool> is_lost(program.slots.size());  ///< slots that can be neither computed nor made
  Calls used;
  CallWriter calls(program, {uses_accelerator(program)}, used);
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
        // The reason is known.
      } else if (instruction.kind == InstructionKind::kOp && !means_nothing(instruction.name)) {
        static_cast<void>(calls.write(instruction, any_tensor));
      } else if (instruction.comm && instruction.kind != InstructionKind::kWait) {
        static_cast<void>(
            communicate_text(program, instruction, [](SlotId) { return std::string("x"); }));
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
