#pragma once

#include <map>
#include <string>
#include <vector>

#include "et_schema/bench/bench.h"
#include "et_schema/model/trace.h"
#include "et_schema/pytorch_et/comm_calls.h"

namespace understudy::generator {

/// The process groups of a job, gathered from all ranks. Group 0 is the world, torch's default
/// group. Others of the same ranks are groups of their own: each has a communicator.
class Groups {
 public:
  /// `world_size`: ranks of the job that was traced.
  Groups(const std::vector<et_schema::Trace>& traces, std::int64_t world_size);

  /// The group of a call on a rank; a group the trace does not say is the world, and counted.
  [[nodiscard]] et_schema::GroupId find(const et_schema::Trace& trace,
                                        const et_schema::CommCall& call, et_schema::Losses& losses);

  [[nodiscard]] std::vector<et_schema::ProcessGroup> take() { return std::move(groups_); }

 private:
  /// Whether the call says its group as first rank, stride and size, and the world has these ranks.
  [[nodiscard]] bool is_strided_group(const et_schema::CommCall& call) const;
  /// The group that entry `index` of the trace's list is.
  [[nodiscard]] et_schema::GroupId add_listed(const et_schema::Trace& trace, std::size_t index);
  [[nodiscard]] et_schema::GroupId add(et_schema::ProcessGroup group);
  [[nodiscard]] bool is_whole_world(const et_schema::ProcessGroup& group) const;

  std::int64_t world_size_ = 1;
  std::vector<et_schema::ProcessGroup> groups_;
};

}  // namespace understudy::generator
