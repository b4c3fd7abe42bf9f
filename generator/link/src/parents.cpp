#include "et_schema/formats/pytorch_et/trace_tree.h"
#include "generator/flow/model_names.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "generator/link/names.h"
#include "join.h"

namespace understudy::generator {

std::uint64_t repair_parents(et_schema::Trace& trace, const et_schema::Profile& profile) {
  NameTable names;
  const JoinNodes nodes = join_nodes(trace, {}, names);
  const HostEvents host = host_events(profile, names);
  const Join join = join_by_id(trace, nodes, host, names.size());
  if (join.steps.empty()) {
    return 0;
  }
  const std::vector<NodeIndex> node_of = nodes_of_events(join, nodes, host);
  const std::vector<HostIndex>& event_of = join.steps.front().event_of;
  std::vector<bool> is_joined(trace.nodes.size());
  for (std::size_t i = 0; i < event_of.size(); ++i) {
    is_joined[nodes.nodes[i]] = event_of[i] != kNoEvent;
  }
  std::vector<NodeIndex> parents(trace.nodes.size(), kNoNode);
  std::uint64_t repaired = 0;
  for (std::size_t i = 0; i < event_of.size(); ++i) {
    if (event_of[i] == kNoEvent) {
      continue;
    }
    const NodeIndex node = nodes.nodes[i];
    const NodeIndex recorded = trace.nodes[node].parent;
    const HostIndex around = joined_around(host.events[event_of[i]].parent, node_of, host);
    // The recorded parent is consistent with the profile: it is the innermost joined event around
    // the node, or a root if there is none.
    if (around == kNoEvent ? !is_joined[recorded] : node_of[around] == recorded) {
      continue;
    }
    const NodeIndex shown =
        around == kNoEvent ? et_schema::thread_root(trace, trace.nodes[node].tid) : node_of[around];
    if (shown != kNoNode && shown < node && shown != recorded) {
      parents[node] = shown;
      ++repaired;
    }
  }
  if (repaired > 0) {
    et_schema::set_parents(trace, parents);
    trace.losses.add(et_schema::Loss::kRepairedParents, repaired);
  }
  return repaired;
}

}  // namespace understudy::generator
