#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/programs.h"

namespace understudy::et_schema {

/// Differences between the programs of two ranks of the same behaviour. Instructions are counted in
/// the order of the file, including bodies.
struct ProgramDifferences {
  /// From instruction `first` on, node ids are those of the shared file plus `shift` (modulo 2^64).
  struct NodeShift {
    std::uint64_t first = 0;
    std::int64_t shift = 0;
    bool operator==(const NodeShift&) const = default;
  };
  struct Comm {
    std::uint64_t instruction = 0;
    std::int64_t root_or_peer = 0;
    std::optional<std::int64_t> seq;
    std::vector<std::int64_t> in_splits;
    std::vector<std::int64_t> out_splits;
    bool operator==(const Comm&) const = default;
  };
  std::vector<std::pair<Device, Device>> devices;  ///< in the shared file → of this rank
  std::vector<NodeShift> nodes;
  std::vector<Comm> comms;
  OwnGroups groups;  ///< in place of those of the shared file

  bool operator==(const ProgramDifferences&) const = default;
  [[nodiscard]] bool empty() const {
    return devices.empty() && nodes.empty() && comms.empty() && groups.empty();
  }
};

/// Returns the differences of two programs with equal behaviour texts.
[[nodiscard]] ProgramDifferences differences(const Program& shared, const Program& program);

/// Turns a copy of the shared program into a rank's program, but for its groups. Throws Error (bad
/// input) if a difference names an instruction that does not exist or does not communicate.
void apply(const ProgramDifferences& differences, Program& program, const std::string& file,
           int rank);

}  // namespace understudy::et_schema
