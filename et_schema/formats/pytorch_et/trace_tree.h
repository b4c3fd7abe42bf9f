#pragma once

#include <span>

#include "et_schema/base/arena.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Sorts the nodes by id and links them to a tree. Roots that the file lacks are made up, and nodes
/// without a parent in the file hung from their thread's root; both are counted. Throws Error (bad
/// input): duplicate ids, a node that is its own ancestor, more than 2^32 - 2 nodes.
void link_nodes(Trace& trace, Arena& arena);

/// Hangs nodes from other parents: `parents` has one entry a node, kNoNode for those that stay
/// where they are. A parent must stand before its child. Children and subtrees follow; ids of nodes
/// stay.
void set_parents(Trace& trace, std::span<const NodeIndex> parents);

/// The root label of a thread; kNoNode if the trace has none.
[[nodiscard]] NodeIndex thread_root(const Trace& trace, std::uint64_t tid);

}  // namespace understudy::et_schema
