#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/bodies.h"
#include "generator/resize/world.h"

namespace understudy::generator {

inline constexpr const char* kNoOtherWorld = "the job cannot be scaled to another number of ranks";

/// What a group's ranks divide, and how that is known.
struct DecidedKind {
  GroupKind kind = GroupKind::kData;
  std::string why;
};
/// By group; nothing of groups that do not communicate.
using DecidedKinds = std::vector<std::optional<DecidedKind>>;

/// What the user says counts first, then the group's description, then its calls. Throws Error: bad
/// input, where a group only gathers or only scatters, which says nothing of what; usage, where the
/// user names a group that is not there.
[[nodiscard]] DecidedKinds decide_kinds(const et_schema::Bench& bench, const GroupKinds& said);

/// Calls visit(instruction) for each communication, waits included, those in bodies too.
template <typename Instructions, typename Visit>
void each_communication(Instructions& instructions, const Visit& visit) {
  et_schema::for_each_instruction(instructions, [&](auto& instruction) {
    if (instruction.comm) {
      visit(instruction);
    }
  });
}

/// Whether a call exchanges parts for each rank.
[[nodiscard]] bool is_exchange(const et_schema::Instruction& call);

}  // namespace understudy::generator
