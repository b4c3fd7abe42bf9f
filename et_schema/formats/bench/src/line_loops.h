#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/bench/bench.h"

namespace understudy::et_schema {

/// What the loops of a member may unfold to.
inline constexpr std::uint64_t kMostUnfoldedBytes = std::uint64_t{1} << 30U;

/// Writes lines that repeat once: lines of the same text but for whole numbers that grow by the
/// same amount from repetition to repetition. A line {"loop":N,"lines":K,"steps":[[P,D,…],…]}
/// stands before the first repetition's K lines: there are N repetitions, in which the P-th whole
/// number of a line, counted from 0, grows by D each. Nothing else is lost or changed: unfold_lines
/// gives the same bytes.
[[nodiscard]] std::string fold_lines(const std::string& text);

/// The text that was folded. Throws Error (bad input) with the line: a loop that cannot be, text of
/// more than `most_bytes` in all.
[[nodiscard]] std::string unfold_lines(std::string_view text, const std::string& file,
                                       std::uint64_t most_bytes);

/// The loops among a program's instructions, bodies with their instruction.
[[nodiscard]] std::vector<InstructionLoop> instruction_loops(const std::string& program_text);

}  // namespace understudy::et_schema
