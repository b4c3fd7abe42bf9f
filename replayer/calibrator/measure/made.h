#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/operator_times/ceiling.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "replayer/calibrator/design/call.h"
#include "replayer/job/replay.h"

namespace understudy::calibrator {

/// Replays this rank of a benchmark that is in no file, in timing passes alone, whose rows are lost
/// if a signal ends them. Sets the options that say so. Throws what replay_rank() throws.
[[nodiscard]] replayer::RankRun replay_made(const et_schema::Bench& bench,
                                            backends::Backend& backend,
                                            replayer::ReplayOptions options);

/// The rows of calls that ran as they are, with the calls' numbers, and how many others there were
/// by operator and reason.
struct CallRows {
  std::vector<et_schema::MeasuredCall> rows;
  std::map<std::string, std::uint64_t> refused;
};
/// Replays a benchmark of these calls. Those that fail together are replayed alone. Returns no rows
/// if a signal ended the replay. Throws Error (failed) if the device is lost.
[[nodiscard]] CallRows replay_calls(const std::vector<Call>& calls, backends::Backend& backend,
                                    const replayer::ReplayOptions& options);

/// Measures the rates that calls on this machine hardly exceed, on a host with each of these
/// numbers of threads. Calls that this LibTorch refuses have none; none follows once `is_over`.
[[nodiscard]] std::vector<et_schema::Ceiling> measure_ceilings(
    const replayer::ReplayOptions& options, const std::vector<int>& threads,
    const std::function<bool()>& is_over);

}  // namespace understudy::calibrator
