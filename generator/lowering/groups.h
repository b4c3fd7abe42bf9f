#pragma once

#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

/// The process groups of a job, gathered from all ranks. Group 0 is the world, torch's default
/// group. Other groups of the same ranks stay separate: each has its own communicator.
class Groups {
 public:
  /// `world_size` is the number of ranks of the traced job.
  Groups(const std::vector<et_schema::Trace>& traces, std::int64_t world_size);

  /// Returns the group of a call on a rank. If the trace does not record the group, returns the
  /// world and counts a loss.
  [[nodiscard]] et_schema::GroupId find(const et_schema::Trace& trace,
                                        const et_schema::CommCall& call, et_schema::Losses& losses);

  [[nodiscard]] std::vector<et_schema::ProcessGroup> take() { return std::move(groups_); }

 private:
  /// Returns true if the call records its group as first rank, stride and size, and the world has
  /// all of these ranks.
  [[nodiscard]] bool is_strided_group(const et_schema::CommCall& call) const;
  /// Adds entry `index` of the trace's list of groups.
  [[nodiscard]] et_schema::GroupId add_listed(const et_schema::Trace& trace, std::size_t index);
  [[nodiscard]] et_schema::GroupId add(et_schema::ProcessGroup group);
  [[nodiscard]] bool is_whole_world(const et_schema::ProcessGroup& group) const;

  std::int64_t world_size_ = 1;
  bool is_fake_ = false;  ///< the job ran under torch's fake group
  std::vector<et_schema::ProcessGroup> groups_;
};

}  // namespace understudy::generator
