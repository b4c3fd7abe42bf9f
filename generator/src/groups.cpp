#include "groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

}  // namespace

Groups::Groups(const std::vector<Trace>& traces, std::int64_t world_size)
    : world_size_(world_size) {
  std::vector<std::int64_t> world(static_cast<std::size_t>(world_size_));
  std::iota(world.begin(), world.end(), 0);
  groups_.push_back({"world", "", "", std::move(world), world_size_});
  for (const Trace& trace : traces) {
    for (const ProcessGroup& group : trace.process_groups) {
      if (!group.ranks.empty()) {
        static_cast<void>(add(group));
      }
    }
  }
}

GroupId Groups::add(ProcessGroup group) {
  group.size = static_cast<std::int64_t>(group.ranks.size());
  if (group.ranks == groups_.front().ranks) {
    return 0;
  }
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
  // Ranks of one job can each have a group of the same name: the one that holds this rank is meant.
  for (const ProcessGroup& group : trace.process_groups) {
    if (group.name == call.pg_name && !call.pg_name.empty()) {
      if (group.ranks.empty()) {
        return 0;
      }
      if (std::ranges::find(group.ranks, trace.rank) != group.ranks.end() ||
          trace.process_groups.size() == 1) {
        return add(group);
      }
    }
  }
  if (is_strided_group(call)) {
    ProcessGroup group{call.pg_name, call.pg_desc, "", {}, call.group_size};
    group.ranks =
        strided_ranks(call.global_rank_start, std::max<std::int64_t>(call.global_rank_stride, 1),
                      call.group_size);
    return add(std::move(group));
  }
  if (call.kind != et_schema::CommKind::kWait) {
    losses.add(et_schema::Loss::kAssumedProcessGroups);
  }
  return 0;
}

}  // namespace understudy::generator
