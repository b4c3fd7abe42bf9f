#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/host.h"
#include "generator/link/profiled_steps.h"

namespace understudy::generator {

/// The nodes of a step that a profile can show: those with a record function id. Roots have none,
/// nor have the lists of process groups, which only the trace's observer writes.
struct JoinNodes {
  std::vector<et_schema::NodeIndex> nodes;  ///< in order of id
  std::vector<NameId> names;                ///< parallel to nodes
  bool is_one_step = true;                  ///< at most one of them marks a step
};
[[nodiscard]] JoinNodes join_nodes(const et_schema::Trace& trace, IdRange step, NameTable& names);

/// One profiled step.
struct JoinedStep {
  StepSpan span;
  /// By position in JoinNodes; kNoEvent if none was found.
  std::vector<HostIndex> event_of;
  /// Number of the step's host events, without a mark that has no node.
  std::uint64_t events = 0;

  /// Returns the start of the step's mark, or else of the first joined event.
  [[nodiscard]] std::int64_t begin_ns(const HostEvents& host) const;
  /// Returns the end of the step's mark, or else of the last joined event.
  [[nodiscard]] std::int64_t end_ns(const HostEvents& host) const;
};

/// Returns how many nodes have an event.
[[nodiscard]] std::size_t count_joined(const std::vector<HostIndex>& event_of);

struct Join {
  et_schema::JoinKind kind = et_schema::JoinKind::kOrder;
  std::vector<JoinedStep> steps;
  std::uint64_t joined = 0;      ///< nodes with an event in at least half of the steps
  double agreement = 0;          ///< 2 · joined pairs ÷ (nodes + events), over all steps
  std::uint64_t other_ways = 0;  ///< number of steps dropped because they ran differently
};

/// Joins by "Record function id" = rf_id, up to a constant, and checks names. `names` is the number
/// of different names. Returns a join without steps if the profile has no such ids, or if fewer
/// than 9 of 10 nodes find their name.
[[nodiscard]] Join join_by_id(const et_schema::Trace& trace, const JoinNodes& nodes,
                              const HostEvents& host, std::size_t names);

/// Joins by order: aligns the names of each thread, ordered by start, with each profiled step.
/// Drops steps that agree worse than the best ones, such as those of a batch of other lengths:
/// their times belong to other work.
[[nodiscard]] Join join_by_order(const et_schema::Trace& trace, const JoinNodes& nodes,
                                 const HostEvents& host, std::size_t names);

/// Counts the events of each step, and the joined nodes over all steps.
void sum_up(Join& join, const HostEvents& host, std::size_t nodes);

/// Returns by host event the node joined to it, or kNoNode.
[[nodiscard]] std::vector<et_schema::NodeIndex> nodes_of_events(const Join& join,
                                                                const JoinNodes& nodes,
                                                                const HostEvents& host);

/// Returns the event itself or the innermost event around it that has a node; kNoEvent if none.
[[nodiscard]] HostIndex joined_around(HostIndex event,
                                      const std::vector<et_schema::NodeIndex>& node_of,
                                      const HostEvents& host);

/// Returns by joined step the time range in which its device work was launched: the step's own. A
/// range that reaches the profile's end has no upper bound, because the device ends after the host.
[[nodiscard]] std::vector<StepSpan> launch_spans(const Join& join, const HostEvents& host);

}  // namespace understudy::generator
