#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "generator/emitter/outline/data_flow.h"

namespace understudy::emitter {

/// A run of instructions that is written as one call.
struct Unit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<std::size_t> function;  ///< absent: written out in the step itself
};

/// A function: what the instructions of its units have in common. Slots differ from unit to unit.
struct Function {
  std::vector<std::size_t> units;  ///< ascending; the text is written after the first
  /// By parameter: its slot in each unit. Two parameters differ in at least one unit.
  std::vector<std::vector<et_schema::SlotId>> parameters;
  /// By read of the function's instructions, in order: a parameter, or none for what it made
  /// itself.
  std::vector<std::vector<std::optional<std::size_t>>> reads;
  /// What it gives back: instruction in the unit, and which of its new tensors.
  struct Result {
    std::size_t instruction = 0;
    std::size_t tensor = 0;
    bool operator==(const Result&) const = default;
  };
  std::vector<Result> results;
};

struct Outline {
  Phases phases;
  std::vector<Unit> units;  ///< all instructions, in order
  std::vector<Function> functions;
};

/// New tensors of an instruction, list elements included, in order.
[[nodiscard]] std::vector<et_schema::SlotId> new_tensors(const DataFlow& flow, std::size_t at);

/// Cuts a program into functions: repeated runs become one function with several calls, the rest
/// is cut where fewest tensors cross. Communication stays in the step itself.
[[nodiscard]] Outline make_outline(const DataFlow& flow);

}  // namespace understudy::emitter
