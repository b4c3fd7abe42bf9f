#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Reads a communication from a c10d node without a record_param_comms below it, as in Gloo traces.
/// Returns nothing for an unknown operator.
[[nodiscard]] std::optional<CommCall> read_c10d_call(const Trace& trace, const Node& node);

/// Returns the name of a record_param_comms without inputs (torch 1.13) or of an unknown name, from
/// the c10d operator or the "nccl:" label around it; empty if none exists.
[[nodiscard]] std::string name_from_surroundings(const Trace& trace, const Node& node);

/// Reads the splits of an all-to-all's c10d node; uneven ones make the call an all_to_allv. c10d
/// lists the output's splits first. Returns false if the node has none.
bool read_splits(CommCall& call, const Node& node);

/// Adds the tensor of the wait_tensor operator around a recorded wait, if any.
void add_waited_tensor(CommCall& call, const Trace& trace, const Node& node);

/// Sets the reduce operator of a communication; its tensors must have been read. Uses the
/// functional operator that issued it, else a capture's labels, else labels of sharded data
/// parallel around it. Leaves it empty if none exists, or if replay does not support it.
void read_reduce_op(CommCall& call, const Trace& trace, const Node& node);

/// Returns the argument asyncOp or async_op of a c10d node; nothing if its schema has none.
[[nodiscard]] std::optional<bool> recorded_async(const Node& c10d_node);

/// Returns the integers of a list; skips other values.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Value& list);

}  // namespace understudy::et_schema
