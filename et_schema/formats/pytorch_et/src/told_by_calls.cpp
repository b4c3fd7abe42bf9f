#include "et_schema/formats/pytorch_et/told_by_calls.h"

#include <algorithm>

#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/formats/pytorch_et/process_groups.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {

bool tells_own_rank(CommKind kind) {
  const CommTraits& row = traits(kind);
  return !row.has_root && !is_message(kind) && row.sizes != CommSizes::kNoCommunication;
}

std::optional<std::int64_t> global_rank(const KnownRanks& known, std::int64_t place) {
  const bool is_listed = std::ranges::find(known.ranks, place) != known.ranks.end();
  if (is_listed && known.start < 0) {
    return place;  // torch 2.15 writes global ranks, and no start
  }
  if (place >= 0 && place < static_cast<std::int64_t>(known.ranks.size())) {
    return known.ranks[static_cast<std::size_t>(place)];
  }
  std::int64_t rank = -1;
  const bool is_known = place >= 0 && known.start >= 0 && known.stride > 0 &&
                        !__builtin_mul_overflow(place, known.stride, &rank) &&
                        !__builtin_add_overflow(rank, known.start, &rank);
  return is_known ? std::optional(rank) : std::nullopt;
}

std::optional<int> told_rank(const Trace& trace) {
  std::optional<int> told;
  for (const auto& [index, call] : read_communication(trace).calls) {
    if (!call.seq || !tells_own_rank(call.kind)) {
      continue;
    }
    KnownRanks known{{}, call.global_rank_start, call.global_rank_stride};
    const auto group = std::ranges::find(trace.process_groups, call.pg_name, &ProcessGroup::name);
    if (group != trace.process_groups.end() && group->ranks.empty()) {
      known = {{}, 0, 1};  // the whole world
    } else if (group != trace.process_groups.end()) {
      known.ranks = group->ranks;
    }
    const std::optional<std::int64_t> rank = global_rank(known, call.root_or_peer);
    if (!rank) {
      continue;
    }
    if (*rank >= kMaxWorldSize || (told && *told != *rank)) {
      return std::nullopt;
    }
    told = static_cast<int>(*rank);
  }
  return told;
}

}  // namespace understudy::et_schema
