#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/composer/plan/plan.h"

namespace understudy::composer {

/// A part of a program: its instructions, and the slots that they read before they write them.
struct Piece {
  std::vector<std::size_t> instructions;
  std::vector<et_schema::SlotId> inputs;  ///< in order of the first read
};

/// Returns the instructions that a plan's piece selects, possibly none. An alias that the generator
/// added belongs to the instruction before it.
[[nodiscard]] Piece select_piece(const et_schema::Program& program, const PlanPiece& asked);

/// Describes the conditions of a piece: "operators '^aten::mm$', class matmul".
[[nodiscard]] std::string conditions_text(const PlanPiece& asked);

/// Returns true if a piece contains communication.
[[nodiscard]] bool communicates(const et_schema::Program& program, const Piece& piece);

}  // namespace understudy::composer
