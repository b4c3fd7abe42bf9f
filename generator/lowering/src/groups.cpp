#include "generator/lowering/groups.h"

#include <algorithm>
#include <numeric>

#include "generator/flow/fake_group.h"

namespace understudy::generator {
namespace {

using et_schema::CommCall;
using et_schema::GroupId;
using et_schema::ProcessGroup;
using et_schema::Trace;

std::vector<std::int64_t> strided_ranks(std::int64_t start, std::int64_t stride,
                                        std::int64_t size) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    ranks[static_cast<std::size_t>(i)] = start + i * stride;
  }
  return ranks;
}

/// Returns true if the name is an address, as in torch 2.0 and 2.1. Addresses differ by rank.
bool is_address(const std::string& name) {
  constexpr std::size_t kMostDigitsOfCount = 7;  // torch numbers groups; a world has at most 2^20
  return name.size() > kMostDigitsOfCount &&
         name.find_first_not_of("0123456789") == std::string::npos;
}

/// Description of the default group; older versions of torch only name it "0", as the first group.
constexpr const char* kDefaultGroup = "default_pg";
constexpr const char* kDefaultGroupName = "0";

}  // namespace

Groups::Groups(const std::vector<Trace>& traces, std::int64_t world_size)
    : world_size_(world_size) {
  std::vector<std::int64_t> world(static_cast<std::size_t>(world_size_));
  std::iota(world.begin(), world.end(), 0);
  groups_.push_back({"world", "", "", std::move(world), world_size_});
  for (const Trace& trace : traces) {
    is_fake_ = is_fake_ || is_of_fake_group(trace.process_groups);
    for (std::size_t i = 0; i < trace.process_groups.size(); ++i) {
      static_cast<void>(add_listed(trace, i));
    }
  }
}

bool Groups::is_whole_world(const ProcessGroup& group) const {
  return group.ranks.empty() || group.ranks == groups_.front().ranks;
}

GroupId Groups::add_listed(const Trace& trace, std::size_t index) {
  const std::vector<ProcessGroup>& listed = trace.process_groups;
  const auto is_whole = [&](const ProcessGroup& group) { return is_whole_world(group); };
  auto world = std::ranges::find_if(listed, [&](const ProcessGroup& group) {
    return group.description == kDefaultGroup && is_whole(group);
  });
  if (world == listed.end()) {
    world = std::ranges::find_if(listed, is_whole);
  }
  const auto entry = listed.begin() + static_cast<std::ptrdiff_t>(index);
  if (entry == world) {
    groups_.front().backend = is_of_fake_group({*entry}) ? entry->backend : "";
    return 0;
  }
  ProcessGroup group = *entry;
  if (group.ranks.empty()) {
    group.ranks = groups_.front().ranks;  // an entry without ranks is a group of all ranks
  }
  if (!is_address(group.name)) {
    return add(std::move(group));
  }
  // Names that are addresses cannot identify a group across ranks. All members create their groups
  // in the same order, so the group has the same position among those with equal ranks.
  const auto is_twin = [&](const ProcessGroup& other) {
    return is_address(other.name) &&
           (other.ranks == group.ranks || (other.ranks.empty() && is_whole(group)));
  };
  auto place =
      std::count_if(listed.begin(), entry, is_twin) - (world < entry && is_twin(*world) ? 1 : 0);
  for (std::size_t id = 1; id < groups_.size(); ++id) {
    if (is_twin(groups_[id]) && place-- == 0) {
      return static_cast<GroupId>(id);
    }
  }
  groups_.push_back(std::move(group));
  return static_cast<GroupId>(groups_.size() - 1);
}

GroupId Groups::add(ProcessGroup group) {
  group.size = static_cast<std::int64_t>(group.ranks.size());
  const auto known = std::ranges::find_if(groups_, [&](const ProcessGroup& other) {
    return other.name == group.name && other.ranks == group.ranks;
  });
  if (known != groups_.end()) {
    return static_cast<GroupId>(known - groups_.begin());
  }
  groups_.push_back(std::move(group));
  return static_cast<GroupId>(groups_.size() - 1);
}

bool Groups::is_strided_group(const CommCall& call) const {
  const std::int64_t start = call.global_rank_start;
  const std::int64_t stride = call.global_rank_stride;
  const std::int64_t others = call.group_size - 1;
  return start >= 0 && start < world_size_ && call.group_size > 0 &&
         (others == 0 || (stride > 0 && others <= (world_size_ - 1 - start) / stride));
}

GroupId Groups::find(const Trace& trace, const CommCall& call, et_schema::Losses& losses) {
  const bool is_call = call.kind != et_schema::CommKind::kWait;
  losses.add(et_schema::Loss::kAssumedCommunication, is_call && is_fake_ ? 1 : 0);
  // Several groups of a job may have the same name; use the one that contains this rank.
  for (std::size_t i = 0; i < trace.process_groups.size(); ++i) {
    const ProcessGroup& group = trace.process_groups[i];
    if (group.name == call.pg_name && !call.pg_name.empty() &&
        (group.ranks.empty() || std::ranges::find(group.ranks, trace.rank) != group.ranks.end() ||
         trace.process_groups.size() == 1)) {
      return add_listed(trace, i);
    }
  }
  if (is_strided_group(call)) {
    ProcessGroup group{call.pg_name, call.pg_desc, "", {}, call.group_size};
    group.ranks =
        strided_ranks(call.global_rank_start, std::max<std::int64_t>(call.global_rank_stride, 1),
                      call.group_size);
    const bool says_its_name = !call.pg_name.empty() && !is_address(call.pg_name);
    if (!is_whole_world(group) ||
        (says_its_name && call.pg_desc != kDefaultGroup && call.pg_name != kDefaultGroupName)) {
      return add(std::move(group));
    }
    losses.add(et_schema::Loss::kAssumedCommunication, is_address(call.pg_name) ? 1 : 0);
    return 0;
  }
  losses.add(et_schema::Loss::kAssumedCommunication, is_call ? 1 : 0);
  return 0;
}

}  // namespace understudy::generator
