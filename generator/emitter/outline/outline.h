#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "generator/emitter/outline/data_flow.h"

namespace understudy::emitter {

/// A range of instructions that is written as one call.
struct Unit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<std::size_t> function;  ///< unset: its statements are in the step itself
};

/// A function: the instructions that its units have in common. Slots differ between units.
struct Function {
  std::vector<std::size_t> units;  ///< ascending; the definition follows the first unit
  /// By parameter: its slot in each unit. Two parameters differ in at least one unit.
  std::vector<std::vector<et_schema::SlotId>> parameters;
  /// By instruction of the function, then by read: the parameter that is read, or unset for a
  /// tensor that the function made.
  std::vector<std::vector<std::optional<std::size_t>>> reads;
  /// A returned tensor: the instruction in the unit, and the position among its new tensors.
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

/// Returns the new tensors of an instruction in order, with those in lists.
[[nodiscard]] std::vector<et_schema::SlotId> new_tensors(const DataFlow& flow, std::size_t at);

/// Divides a program into functions. Repeated ranges become one function with several calls; the
/// rest is divided where the fewest tensors cross. Communication stays in the step itself.
[[nodiscard]] Outline make_outline(const DataFlow& flow);

}  // namespace understudy::emitter
