#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/reuse.h"
#include "replayer/calibrator/design/table_calls.h"

namespace understudy::calibrator {

/// Times of a call over embedding tables.
struct TableTimes {
  et_schema::TimeStats forward;         ///< embedding_bag of all tables, with sums
  et_schema::TimeStats backward;        ///< the sparse gradients, and SGD's update of the rows
  std::vector<et_schema::Reuse> reuse;  ///< by table: reuse of rows in the first timed call
};

/// Times a call on the CPU. Sets the process to `threads` threads. Each repetition has its own
/// lookups, so that the caches hold the data of the previous call, as in training. The process
/// should keep freed memory (HeapPages::keep_heap), otherwise page faults are timed.
[[nodiscard]] TableTimes time_tables(const TableCall& call, int threads, std::uint64_t seed);

}  // namespace understudy::calibrator
