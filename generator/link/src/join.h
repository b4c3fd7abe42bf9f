#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/host.h"
#include "profiled_steps.h"

namespace understudy::generator {

/// True of nodes that a profile can show: those with a record function id. Roots are none, and the
/// lists of process groups are written by the trace's observer alone.
[[nodiscard]] bool is_profiled(const et_schema::Node& node);

/// The profiled nodes of a step, with their names' numbers.
struct JoinNodes {
  std::vector<et_schema::NodeIndex> nodes;  ///< in order of id
  std::vector<NameId> names;                ///< parallel to nodes
  bool is_one_step = true;                  ///< at most one of them marks a step
};

/// One profiled step.
struct JoinedStep {
  StepSpan span;
  std::vector<HostIndex> event_of;  ///< by position in JoinNodes; kNoEvent where none was found
  std::uint64_t events = 0;         ///< its host events, a mark that no node stands for left out
};

struct Join {
  et_schema::JoinKind kind = et_schema::JoinKind::kOrder;
  std::vector<JoinedStep> steps;
  std::uint64_t joined = 0;      ///< nodes with an event in at least half of the steps
  double agreement = 0;          ///< 2 · joined pairs ÷ (nodes + events), over all steps
  std::uint64_t other_ways = 0;  ///< steps that were left out
};

/// `names`: how many names there are.
/// By "Record function id" = rf_id, a constant apart, with names checked. A join without steps if
/// the profile has no such ids or fewer than 9 of 10 nodes find their name.
[[nodiscard]] Join join_by_id(const et_schema::Trace& trace, const JoinNodes& nodes,
                              const et_schema::Profile& profile, const HostEvents& host,
                              std::size_t names);

/// Per thread in order of start, names aligned, in each profiled step. Steps that took another way
/// than those that agree best (a batch of other lengths) are left out: their times are of others'
/// work, and what begins where differs.
[[nodiscard]] Join join_by_order(const et_schema::Trace& trace, const JoinNodes& nodes,
                                 const et_schema::Profile& profile, const HostEvents& host,
                                 std::size_t names);

/// Counts the events of each step, and from all steps what was joined.
void sum_up(Join& join, const HostEvents& host, std::size_t nodes);

}  // namespace understudy::generator
