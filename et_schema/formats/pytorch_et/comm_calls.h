#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// One communication node, the same for all eras of the format.
struct CommCall {
  CommKind kind = CommKind::kBarrier;
  std::string name;  ///< as recorded ("allreduce_coalesced"), by c10d's name mapped where none is
  std::vector<const Tensor*> inputs;  ///< in order; of a wait the tensor that it names, if any;
                                      ///< empty for barrier
  std::vector<const Tensor*> outputs;
  std::optional<std::int64_t> seq;  ///< joins a wait with its collective; of a batch one number
  std::optional<bool> is_p2p;       ///< none: a wait that does not say
  std::optional<bool> in_batch;     ///< of CommInfo::in_batch
  bool joins_batch = false;         ///< of CommInfo::joins_batch
  std::string pg_name;              ///< empty: not recorded
  std::string pg_desc;
  std::int64_t rank =
      0;  ///< in the group; the root for rooted collectives, the peer for send and recv
  std::string reduce_op;                ///< of CommInfo::reduce_op; empty: not recorded
  std::string reduce_op_why;            ///< of CommInfo::reduce_op_why
  std::vector<std::int64_t> in_splits;  ///< in rows of dimension 0 (elements as recorded)
  std::vector<std::int64_t> out_splits;
  std::int64_t global_rank_start = -1;
  std::int64_t global_rank_stride = -1;
  std::int64_t group_size = 0;   ///< 0: not recorded
  std::optional<bool> is_async;  ///< from the c10d parent, where recorded
  bool lacks_splits = false;     ///< of an all_to_allv: the trace does not hold them
};

/// The communication of a trace: each record_param_comms, and each c10d node that has none below
/// it.
struct Communication {
  std::map<NodeIndex, CommCall> calls;  ///< kInit is among them; it is no operator
  std::vector<NodeIndex> unknown;       ///< those of unknown names, in order
};

/// Throws Error (bad input) on a call that cannot be read.
[[nodiscard]] Communication read_communication(const Trace& trace);

/// Its calls alone.
[[nodiscard]] std::map<NodeIndex, CommCall> communication_calls(const Trace& trace);

/// Counts as `inspect` prints them: name → number of calls, init left out.
[[nodiscard]] std::map<std::string, std::uint64_t> count_collectives(
    const std::map<NodeIndex, CommCall>& calls);

}  // namespace understudy::et_schema
