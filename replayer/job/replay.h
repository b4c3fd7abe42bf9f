#pragma once

#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/report.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// The result of one rank's replay.
struct RankRun {
  et_schema::RankReport report;
  int threads = 0;
  std::string device;                           ///< as the report names it
  std::map<std::string, std::string> versions;  ///< of torch and the other libraries in use
  /// "place", and the benchmark's recorded "kernel.NAME" and "variable.NAME".
  std::map<std::string, std::string> settings;
  std::vector<et_schema::MeasuredCall> instruction_times;  ///< with ReplayOptions::operator_times
  std::string trace;      ///< Kineto's profile, with ReplayOptions::trace
  std::string checksums;  ///< with ReplayOptions::checksums
};

/// Replays rank `rank` of the benchmark in this process. Must be called by all ranks of `backend`
/// together. Throws Error: failed (an operator, memory), usage (the device), bad input (an
/// inconsistent program).
[[nodiscard]] RankRun replay_rank(const et_schema::Bench& bench, int rank,
                                  backends::Backend& backend, const ReplayOptions& options);

/// Returns the properties of this machine and build that results depend on. `device`, `threads` and
/// `versions` come from the run.
[[nodiscard]] et_schema::Environment describe_environment(const RankRun& run);

}  // namespace understudy::replayer
