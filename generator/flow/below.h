#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// How walk_below() continues from a node: into its children, past them, or not at all.
enum class Walk : std::uint8_t { kInto, kPast, kStop };

/// Visits the nodes below `root`, later siblings first, each before the nodes below it. `visit`
/// receives a node's index and returns how to continue. Returns true if `visit` returned kStop.
template <typename Visitor>
bool walk_below(const et_schema::Trace& trace, et_schema::NodeIndex root, Visitor&& visit) {
  const auto children = trace.nodes[root].children;
  std::vector<et_schema::NodeIndex> pending(children.begin(), children.end());
  while (!pending.empty()) {
    const et_schema::NodeIndex node = pending.back();
    pending.pop_back();
    const Walk next = visit(node);
    if (next == Walk::kStop) {
      return true;
    }
    if (next == Walk::kInto) {
      const auto below = trace.nodes[node].children;
      pending.insert(pending.end(), below.begin(), below.end());
    }
  }
  return false;
}

}  // namespace understudy::generator
