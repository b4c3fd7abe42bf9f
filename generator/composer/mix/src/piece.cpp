#include "generator/composer/mix/piece.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <set>

#include "et_schema/base/regular_expression.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"

namespace understudy::composer {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

bool has_shape(const Program& program, const Instruction& instruction,
               const std::vector<std::int64_t>& shape) {
  return std::ranges::any_of(et_schema::all_slots_of(instruction),
                             [&](SlotId slot) { return program.slots[slot].sizes == shape; });
}

/// Returns true for slots that a communication makes unless they exist: its outputs.
bool is_made_by(const Instruction& instruction, SlotId slot) {
  if (!instruction.comm || instruction.args.size() < 2) {
    return false;
  }
  const std::vector<SlotId> inputs = et_schema::slots_in({instruction.args[0]});
  return std::ranges::find(inputs, slot) == inputs.end();
}

void find_inputs(const Program& program, Piece& piece) {
  std::set<SlotId> known;
  for (const std::size_t at : piece.instructions) {
    const Instruction& instruction = program.instructions[at];
    et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
      const bool is_first = known.insert(slot).second;
      if (is_first && (program.slots[slot].external || !is_made_by(instruction, slot))) {
        piece.inputs.push_back(slot);
      }
    });
    et_schema::for_each_slot(instruction.results, [&](SlotId slot) { known.insert(slot); });
  }
}

}  // namespace

Piece select_piece(const Program& program, const PlanPiece& asked) {
  const std::regex operators = et_schema::regular_expression(asked.operators);
  Piece piece;
  bool takes = false;
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    const bool is_own =
        instruction.kind == InstructionKind::kAlias || instruction.kind == InstructionKind::kMarker;
    if (!is_own) {
      takes = (!asked.nodes || (instruction.node_id >= asked.nodes->first &&
                                instruction.node_id <= asked.nodes->second)) &&
              (asked.operators.empty() || std::regex_search(instruction.name, operators)) &&
              (asked.op_class.empty() || et_schema::op_class(instruction.name) == asked.op_class) &&
              (asked.shape.empty() || has_shape(program, instruction, asked.shape));
    }
    if (takes) {
      piece.instructions.push_back(at);
    }
  }
  find_inputs(program, piece);
  return piece;
}

std::string conditions_text(const PlanPiece& asked) {
  std::vector<std::string> parts;
  if (asked.nodes) {
    parts.push_back(fmt::format("nodes {}-{}", asked.nodes->first, asked.nodes->second));
  }
  if (!asked.operators.empty()) {
    parts.push_back(fmt::format("operators '{}'", asked.operators));
  }
  if (!asked.op_class.empty()) {
    parts.push_back("class " + asked.op_class);
  }
  if (!asked.shape.empty()) {
    parts.push_back(fmt::format("shape [{}]", fmt::join(asked.shape, ", ")));
  }
  if (!asked.annotation.empty()) {
    parts.push_back(fmt::format("annotation '{}'", asked.annotation));
  }
  return parts.empty() ? "any condition" : fmt::format("{}", fmt::join(parts, ", "));
}

bool communicates(const Program& program, const Piece& piece) {
  return std::ranges::any_of(piece.instructions, [&](std::size_t at) {
    return is_communication(program.instructions[at]);
  });
}

}  // namespace understudy::composer
