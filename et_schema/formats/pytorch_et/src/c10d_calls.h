#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Reads a communication off a c10d node that has no record_param_comms below it, as Gloo leaves
/// them. Nothing of an operator that is not known.
[[nodiscard]] std::optional<CommCall> read_c10d_call(const Trace& trace, const Node& node);

/// The recorded name of a record_param_comms without inputs (torch 1.13), from the c10d operator or
/// the "nccl:" label around it; empty if there is none.
[[nodiscard]] std::string name_from_surroundings(const Trace& trace, const Node& node);

/// Adds the tensor of the wait_tensor that a recorded wait was made by, where there is one.
void add_waited_tensor(CommCall& call, const Trace& trace, const Node& node);

/// Sets the reduce operator of a communication whose tensors are read: by the functional operator
/// that made it, by a capture's labels, else by what labels of sharded data parallel around it
/// mean. Leaves it empty if none is there, or names one that replays have not.
void read_reduce_op(CommCall& call, const Trace& trace, const Node& node);

/// The argument asyncOp or async_op of a c10d node; nothing if its schema has none.
[[nodiscard]] std::optional<bool> recorded_async(const Node& c10d_node);

/// The integers of a list; other values are left out.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Value& list);

}  // namespace understudy::et_schema
