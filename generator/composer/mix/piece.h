#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/composer/plan/plan.h"

namespace understudy::composer {

/// A part of a program: instructions in order, what they read but do not make, and what they make.
struct Piece {
  std::vector<std::size_t> instructions;
  std::vector<et_schema::SlotId> inputs;   ///< in order of first reading
  std::vector<et_schema::SlotId> outputs;  ///< in order of last making, still needed or not
};

/// The instructions that a plan's piece selects; may be empty. Instructions that the generator
/// added (aliases) go with those before them.
[[nodiscard]] Piece select_piece(const et_schema::Program& program, const PlanPiece& asked);

/// What a piece asks of its instructions, as in "operators '^aten::mm$', class matmul".
[[nodiscard]] std::string conditions_text(const PlanPiece& asked);

/// Whether a communication is among a piece's instructions.
[[nodiscard]] bool communicates(const et_schema::Program& program, const Piece& piece);

}  // namespace understudy::composer
