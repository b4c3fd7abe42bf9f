#include <numeric>

#include "et_schema/base/content_hash.h"
#include "generator/matching/matching.h"

namespace understudy::matching {
namespace {

template <typename Number>
void mix(std::size_t& hash, const std::vector<Number>& numbers) {
  constexpr std::size_t kOdd = 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()),
                               numbers.size() * sizeof(Number));
  hash = (hash ^ (bytes.size() + 1)) * kOdd;
  if (!numbers.empty()) {
    hash ^= et_schema::content_hash(bytes);
  }
}

Members members_of(const et_schema::ProcessGroup& group, std::size_t world_size) {
  Members members;
  members.ranks.assign(group.ranks.begin(), group.ranks.end());
  if (members.ranks.empty()) {
    members.ranks.resize(world_size);
    std::iota(members.ranks.begin(), members.ranks.end(), 0);
  }
  members.places.resize(world_size, Members::kNoPlace);
  for (std::size_t place = members.ranks.size(); place-- > 0;) {
    const int rank = members.ranks[place];
    if (rank >= 0 && rank < static_cast<int>(world_size)) {
      members.places[static_cast<std::size_t>(rank)] = static_cast<int>(place);
    }
  }
  return members;
}

}  // namespace

JobComms::JobComms(std::span<const et_schema::ProcessGroup> groups, std::size_t world_size)
    : groups_(groups), ranks_(world_size) {
  for (const et_schema::ProcessGroup& group : groups) {
    members_.push_back(members_of(group, world_size));
  }
}

void JobComms::add(std::size_t rank, const CommRecord& call, std::uint64_t node) {
  ranks_[rank].calls.push_back(&*distinct_.insert(call).first);
  ranks_[rank].nodes.push_back(node);
}

std::size_t JobComms::Hash::operator()(const CommRecord& call) const {
  std::size_t hash = static_cast<std::size_t>(call.kind) | std::size_t{call.group} << 8U;
  mix(hash, std::vector<std::int64_t>());
  hash ^= static_cast<std::size_t>(call.root_or_peer);
  mix(hash, call.inputs);
  mix(hash, call.outputs);
  mix(hash, call.in_splits);
  mix(hash, call.out_splits);
  mix(hash, call.joined_before);
  return hash;
}

}  // namespace understudy::matching
