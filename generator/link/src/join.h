#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/host.h"
#include "generator/link/profiled_steps.h"

namespace understudy::generator {

/// The nodes of a step that a profile can show, with their names' numbers: those with a record
/// function id. Roots have none, and only the trace's observer writes the lists of process groups.
struct JoinNodes {
  std::vector<et_schema::NodeIndex> nodes;  ///< in order of id
  std::vector<NameId> names;                ///< parallel to nodes
  bool is_one_step = true;                  ///< at most one of them marks a step
};
[[nodiscard]] JoinNodes join_nodes(const et_schema::Trace& trace, IdRange step, NameTable& names);

/// One profiled step.
struct JoinedStep {
  StepSpan span;
  std::vector<HostIndex> event_of;  ///< by position in JoinNodes; kNoEvent where none was found
  std::uint64_t events = 0;  ///< number of its host events, without a mark that no node stands for

  /// The step's start: that of its mark, else of the first joined event.
  [[nodiscard]] std::int64_t begin_ns(const HostEvents& host) const;
  /// The step's end: that of its mark, else of the last joined event.
  [[nodiscard]] std::int64_t end_ns(const HostEvents& host) const;
};

/// How many nodes have an event.
[[nodiscard]] std::size_t count_joined(const std::vector<HostIndex>& event_of);

struct Join {
  et_schema::JoinKind kind = et_schema::JoinKind::kOrder;
  std::vector<JoinedStep> steps;
  std::uint64_t joined = 0;      ///< nodes with an event in at least half of the steps
  double agreement = 0;          ///< 2 · joined pairs ÷ (nodes + events), over all steps
  std::uint64_t other_ways = 0;  ///< number of steps that were left out
};

/// Joins by "Record function id" = rf_id, up to a constant, and checks names. `names` is the number
/// of different names. A join without steps if the profile has no such ids or fewer than 9 of 10
/// nodes find their name.
[[nodiscard]] Join join_by_id(const et_schema::Trace& trace, const JoinNodes& nodes,
                              const HostEvents& host, std::size_t names);

/// Joins by order: aligns the names of each thread, in order of start, with each profiled step.
/// Steps that took another way than those that agree best (a batch of other lengths) are left out:
/// their times belong to other work, and nodes begin at other places.
[[nodiscard]] Join join_by_order(const et_schema::Trace& trace, const JoinNodes& nodes,
                                 const HostEvents& host, std::size_t names);

/// Counts the events of each step, and what was joined over all steps.
void sum_up(Join& join, const HostEvents& host, std::size_t nodes);

/// By host event: the node that is joined to it; kNoNode: none.
[[nodiscard]] std::vector<et_schema::NodeIndex> nodes_of_events(const Join& join,
                                                                const JoinNodes& nodes,
                                                                const HostEvents& host);

/// The innermost event with a node around an event, or itself; kNoEvent: none.
[[nodiscard]] HostIndex joined_around(HostIndex event,
                                      const std::vector<et_schema::NodeIndex>& node_of,
                                      const HostEvents& host);

/// When the work of each joined step was launched: while the step lasted. The last of a profile has
/// no end, as the device ends after the host.
[[nodiscard]] std::vector<StepSpan> launch_spans(const Join& join, const HostEvents& host);

}  // namespace understudy::generator
