#include "groups.h"

#include <fmt/format.h>

#include <numeric>

#include "et_schema/base/assert.h"

namespace understudy::composer {

using et_schema::GroupId;
using et_schema::ProcessGroup;

NewGroups::NewGroups(int ranks) : ranks_(ranks) {
  ProcessGroup world;
  world.name = "world";
  world.size = ranks;
  groups_.push_back(world);
}

GroupId NewGroups::find(const std::string& source, const et_schema::Bench& origin, GroupId group,
                        const std::vector<int>& ranks) {
  const ProcessGroup& from = origin.groups.at(group);
  std::vector<std::int64_t> members = from.ranks;
  if (members.empty()) {
    members.resize(ranks.size());
    std::iota(members.begin(), members.end(), 0);
  }
  for (std::int64_t& member : members) {
    UNDERSTUDY_ASSERT(member >= 0 && static_cast<std::size_t>(member) < ranks.size());
    member = ranks[static_cast<std::size_t>(member)];
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks_));
  std::iota(all.begin(), all.end(), 0);
  if (group == 0 && members == all) {
    return 0;
  }
  const auto key = std::make_pair(fmt::format("{}/{}", source, from.name), members);
  const auto [found, added] = known_.try_emplace(key, static_cast<GroupId>(groups_.size()));
  if (added) {
    ProcessGroup made = from;
    made.name = fmt::format("{}:{}", key.first, groups_.size());
    made.size = static_cast<std::int64_t>(members.size());
    made.ranks = members;
    groups_.push_back(std::move(made));
  }
  return found->second;
}

}  // namespace understudy::composer
