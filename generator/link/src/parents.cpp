#include <algorithm>

#include "et_schema/pytorch_et/trace_tree.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "generator/link/names.h"
#include "join.h"

namespace understudy::generator {
namespace {

using et_schema::kNoNode;
using et_schema::NodeIndex;
using et_schema::Profile;
using et_schema::Trace;

class ParentRepair {
 public:
  ParentRepair(const Trace& trace, const Profile& profile) : trace_(trace) {
    NameTable names;
    for (NodeIndex i = 0; i < trace.nodes.size(); ++i) {
      if (is_profiled(trace.nodes[i])) {
        nodes_.nodes.push_back(i);
        nodes_.names.push_back(names.number(trace.nodes[i].name));
      }
    }
    host_ = host_events(profile, names);
    const Join join = join_by_id(trace, nodes_, profile, host_, names.size());
    event_of_.assign(trace.nodes.size(), kNoEvent);
    node_of_.assign(host_.events.size(), kNoNode);
    if (join.steps.empty()) {
      return;
    }
    for (std::size_t i = 0; i < nodes_.nodes.size(); ++i) {
      const HostIndex event = join.steps.front().event_of[i];
      if (event != kNoEvent) {
        event_of_[nodes_.nodes[i]] = event;
        node_of_[event] = nodes_.nodes[i];
      }
    }
  }

  /// For each node the parent that the profile shows; kNoNode if the recorded one is right.
  [[nodiscard]] std::vector<NodeIndex> find() const {
    std::vector<NodeIndex> parents(trace_.nodes.size(), kNoNode);
    for (const NodeIndex node : nodes_.nodes) {
      if (event_of_[node] == kNoEvent || ran_around(trace_.nodes[node].parent, node)) {
        continue;
      }
      const NodeIndex shown = shown_parent(node);
      if (shown != kNoNode && shown < node && shown != trace_.nodes[node].parent) {
        parents[node] = shown;
      }
    }
    return parents;
  }

 private:
  /// Whether the recorded parent is right as far as the profile can tell: it is the innermost
  /// joined event around the node, or a root if there is none.
  [[nodiscard]] bool ran_around(NodeIndex parent, NodeIndex node) const {
    HostIndex around = host_.events[event_of_[node]].parent;
    while (around != kNoEvent && node_of_[around] == kNoNode) {
      around = host_.events[around].parent;
    }
    return around == kNoEvent ? event_of_[parent] == kNoEvent : node_of_[around] == parent;
  }

  [[nodiscard]] NodeIndex shown_parent(NodeIndex node) const {
    HostIndex around = host_.events[event_of_[node]].parent;
    while (around != kNoEvent && node_of_[around] == kNoNode) {
      around = host_.events[around].parent;
    }
    return around == kNoEvent ? et_schema::thread_root(trace_, trace_.nodes[node].tid)
                              : node_of_[around];
  }

  const Trace& trace_;
  JoinNodes nodes_;
  HostEvents host_;
  std::vector<HostIndex> event_of_;  ///< by node
  std::vector<NodeIndex> node_of_;   ///< by event
};

}  // namespace

std::uint64_t repair_parents(Trace& trace, const Profile& profile) {
  const std::vector<NodeIndex> parents = ParentRepair(trace, profile).find();
  const auto repaired = static_cast<std::uint64_t>(
      std::ranges::count_if(parents, [](NodeIndex parent) { return parent != kNoNode; }));
  if (repaired > 0) {
    et_schema::set_parents(trace, parents);
    trace.losses.add(et_schema::Loss::kRepairedParents, repaired);
  }
  return repaired;
}

}  // namespace understudy::generator
