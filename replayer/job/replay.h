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

/// One rank's share of a replay.
struct RankRun {
  et_schema::RankReport report;
  int threads = 0;
  std::string device;                           ///< as the report names it
  std::map<std::string, std::string> versions;  ///< of torch and of other libraries that take part
  /// "place"; "kernel.NAME" and "variable.NAME" of what the benchmark recorded.
  std::map<std::string, std::string> settings;
  std::vector<et_schema::InstructionTime>
      instruction_times;  ///< with ReplayOptions::operator_times
  std::string trace;      ///< Kineto's profile, with ReplayOptions::trace
  std::string checksums;  ///< with ReplayOptions::checksums
};

/// Replays rank `rank` of the benchmark in this process. All ranks of `backend` call it together.
/// Throws Error: failed (an operator, memory), usage (the device), bad input (a program that does
/// not fit itself).
[[nodiscard]] RankRun replay_rank(const et_schema::Bench& bench, int rank,
                                  backends::Backend& backend, const ReplayOptions& options);

/// The properties of this machine and build that a result depends on; `device`, `threads` and
/// `versions` come from the run.
[[nodiscard]] et_schema::Environment describe_environment(const RankRun& run);

}  // namespace understudy::replayer
