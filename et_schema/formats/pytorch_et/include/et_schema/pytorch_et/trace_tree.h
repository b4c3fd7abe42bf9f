#pragma once

#include "et_schema/model/trace.h"
#include "et_schema/support/arena.h"

namespace understudy::et_schema {

/// Sorts the nodes by id and links them to a tree. Roots that the file lacks are made up, and nodes
/// without a parent in the file hung from their thread's root; both are counted. Throws Error (bad
/// input): duplicate ids, a node that is its own ancestor, more than 2^32 - 2 nodes.
void link_nodes(Trace& trace, Arena& arena);

}  // namespace understudy::et_schema
