#pragma once

#include <string>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// For each node, whether it is, or runs below, a node whose name holds one of `texts`. With
/// `with_backward` also what autograd ran for these: the labels of the backward pass that belong to
/// them by sequence number, and those that add their gradients to parameters. Throws Error (usage)
/// for a text that no node's name holds.
[[nodiscard]] std::vector<bool> find_subgraph(const et_schema::Trace& trace,
                                              const std::vector<std::string>& texts,
                                              bool with_backward);

}  // namespace understudy::generator
