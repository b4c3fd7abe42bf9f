#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "et_schema/model/comms.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Returns true if a recorder writes its own rank in the group beside such a call, not a root or
/// peer.
[[nodiscard]] bool tells_own_rank(CommKind kind);

/// The ranks of a group, as far as a file has them.
struct KnownRanks {
  std::span<const std::int64_t> ranks;  ///< global ranks in group order
  std::int64_t start = -1;              ///< else the first one, and the distance of neighbours
  std::int64_t stride = -1;
};
/// Returns the global rank of a place in a group; nothing if it is not known.
[[nodiscard]] std::optional<std::int64_t> global_rank(const KnownRanks& known, std::int64_t place);

/// Returns the rank that the calls of a trace tell. Nothing if none tells it, or if they
/// contradict.
[[nodiscard]] std::optional<int> told_rank(const Trace& trace);

}  // namespace understudy::et_schema
