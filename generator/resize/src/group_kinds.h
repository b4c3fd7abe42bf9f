#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/bench/bench.h"
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
  for (auto& instruction : instructions) {
    if (instruction.comm) {
      visit(instruction);
    }
    each_communication(instruction.body, visit);
  }
}

}  // namespace understudy::generator
