#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/reuse.h"
#include "replayer/calibrator/design/table_calls.h"

namespace understudy::calibrator {

/// A call over embedding tables as it was timed.
struct TableTimes {
  et_schema::TimeStats forward;         ///< embedding_bag of all tables, sums
  et_schema::TimeStats backward;        ///< their sparse gradients, and SGD's update of the rows
  std::vector<et_schema::Reuse> reuse;  ///< by table: of the first timed call's lookups
};

/// Times a call on the CPU, on so many threads, which stay set. Each repetition has lookups of its
/// own, so that it meets the caches as training does: with what the call before left there. Memory
/// that is freed should stay with the process (HeapPages::keep_heap), else its page faults are
/// timed.
[[nodiscard]] TableTimes time_tables(const TableCall& call, int threads, std::uint64_t seed);

}  // namespace understudy::calibrator
