#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "et_schema/base/arena.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Old id → new id; empty if all nodes kept theirs.
using NewIds = std::unordered_map<std::uint64_t, std::uint64_t>;

/// Sorts the nodes by id and links them to a tree. Missing roots are added, and nodes without a
/// parent in the file become children of their thread's root; both are counted. If nodes have
/// parents with higher ids (merged traces number nodes as they end), the ids are assigned anew in
/// order of start. Throws Error (bad input) if ids are not unique, a node is its own ancestor, or
/// more than 2^32 - 2 nodes exist.
NewIds link_nodes(Trace& trace, Arena& arena);

/// Moves nodes to other parents, with their subtrees. `parents` has one entry per node, or kNoNode
/// to keep its parent. A parent must precede its child. Node ids do not change.
void set_parents(Trace& trace, std::span<const NodeIndex> parents);

/// Returns the root label of a thread; kNoNode if the trace has none.
[[nodiscard]] NodeIndex thread_root(const Trace& trace, std::uint64_t tid);

}  // namespace understudy::et_schema
