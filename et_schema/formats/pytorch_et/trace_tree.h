#pragma once

#include <span>

#include "et_schema/base/arena.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Sorts the nodes by id and links them to a tree. Missing roots are added, and nodes without a
/// parent in the file become children of their thread's root; both are counted. Throws Error (bad
/// input) if ids are not unique, a node is its own ancestor, or more than 2^32 - 2 nodes exist.
void link_nodes(Trace& trace, Arena& arena);

/// Moves nodes to other parents, with their subtrees. `parents` has one entry per node, or kNoNode
/// to keep its parent. A parent must precede its child. Node ids do not change.
void set_parents(Trace& trace, std::span<const NodeIndex> parents);

/// Returns the root label of a thread; kNoNode if the trace has none.
[[nodiscard]] NodeIndex thread_root(const Trace& trace, std::uint64_t tid);

}  // namespace understudy::et_schema
