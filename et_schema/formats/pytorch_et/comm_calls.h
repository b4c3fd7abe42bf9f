#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// One communication node, independent of the format's version. `group`, `names_group` and `why`
/// are unset. `reduce_op` is empty for a reduction whose operator is not recorded.
struct CommCall : CommInfo {
  std::string name;  ///< as recorded ("allreduce_coalesced"); else mapped from the c10d operator
  std::vector<const Tensor*> inputs;  ///< in order; for a wait, the tensor that it names, if any;
                                      ///< empty for barrier
  std::vector<const Tensor*> outputs;
  std::string pg_name;  ///< empty: not recorded
  std::string pg_desc;
  std::int64_t global_rank_start = -1;
  std::int64_t global_rank_stride = -1;
  std::int64_t group_size = 0;  ///< 0: not recorded
  bool lacks_splits = false;    ///< an all_to_allv whose splits are not in the trace
};

/// The communication of a trace: each record_param_comms, and each c10d node without one below it.
struct Communication {
  std::map<NodeIndex, CommCall> calls;  ///< includes kInit, which is not an operator
  std::vector<NodeIndex> unknown;       ///< nodes with unknown names, in order
  /// Nodes that issued a batch, whose kernel they launched, and the last call of each.
  std::map<NodeIndex, NodeIndex> issued;
};

/// Reads all communication. Throws Error (bad input) if a call cannot be read.
[[nodiscard]] Communication read_communication(const Trace& trace);

/// Returns read_communication().calls.
[[nodiscard]] std::map<NodeIndex, CommCall> communication_calls(const Trace& trace);

/// Returns the counts that `inspect` prints: name → number of calls, without init.
[[nodiscard]] std::map<std::string, std::uint64_t> count_collectives(
    const std::map<NodeIndex, CommCall>& calls);

}  // namespace understudy::et_schema
