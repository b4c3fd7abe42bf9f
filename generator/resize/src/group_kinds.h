#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/bodies.h"
#include "generator/resize/world.h"

namespace understudy::generator {

inline constexpr const char* kNoOtherWorld = "the job cannot be scaled to another number of ranks";

/// What a group's ranks divide, and the reason for that decision.
struct DecidedKind {
  GroupKind kind = GroupKind::kData;
  std::string why;
};
/// By group; unset for groups that do not communicate.
using DecidedKinds = std::vector<std::optional<DecidedKind>>;

/// Decides by the user's choice, else by the group's description, else by its calls. Throws Error
/// (bad input) if the kind is undecided because a group only gathers or only scatters, unless the
/// job keeps its size; Error (usage) if the user names an unknown group.
[[nodiscard]] DecidedKinds decide_kinds(const et_schema::Bench& bench, const GroupKinds& said,
                                        bool keeps_size);

/// Calls visit(instruction) for each communication, including waits and those in bodies.
template <typename Instructions, typename Visit>
void each_communication(Instructions& instructions, const Visit& visit) {
  et_schema::for_each_instruction(instructions, [&](auto& instruction) {
    if (instruction.comm) {
      visit(instruction);
    }
  });
}

/// Returns true if each rank sends a part of its input to every rank of the group (all-to-all).
[[nodiscard]] bool is_exchange(const et_schema::Instruction& call);

}  // namespace understudy::generator
