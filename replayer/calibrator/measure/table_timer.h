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

/// Times a call on the CPU with `threads` threads, a setting that stays in force. Each repetition
/// has lookups of its own, so that it finds the caches as in training: filled by the call before.
/// The process should keep freed memory (HeapPages::keep_heap), otherwise page faults are timed.
[[nodiscard]] TableTimes time_tables(const TableCall& call, int threads, std::uint64_t seed);

}  // namespace understudy::calibrator
