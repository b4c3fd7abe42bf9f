#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/trace.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// The job to which a set of traces belongs.
struct Job {
  std::int64_t world_size = 1;                   ///< as recorded, but at least the number of traces
  std::optional<et_schema::PartialJob> partial;  ///< set if some ranks have no trace
  std::uint64_t missing = 0;                     ///< number of ranks without a trace
  std::vector<bool> is_foreign;  ///< by trace: from another capture than the first trace
};

/// Finds out from capture.json and the recorded process groups whether the traces are all ranks of
/// one job. Throws Error (bad input) if they are not and `partial` does not allow it.
[[nodiscard]] Job find_job(const std::vector<et_schema::Trace>& traces, PartialRanks partial);

}  // namespace understudy::generator
