#pragma once

#include <functional>
#include <vector>

#include "et_schema/formats/operator_times/ceiling.h"
#include "replayer/job/replay.h"

namespace understudy::calibrator {

/// Makes a benchmark of one rank.
[[nodiscard]] et_schema::Bench bench_of(et_schema::Program program);

/// Replays this rank of a benchmark that is in no file, in timing passes alone, whose rows are lost
/// if a signal ends them. Sets the options that say so. Throws what replay_rank() throws.
[[nodiscard]] replayer::RankRun replay_made(const et_schema::Bench& bench,
                                            backends::Backend& backend,
                                            replayer::ReplayOptions options);

/// Measures the rates that calls on this machine hardly exceed, on a host with each of these
/// numbers of threads. Calls that this LibTorch refuses have none; none follows once `is_over`.
[[nodiscard]] std::vector<et_schema::Ceiling> measure_ceilings(
    const replayer::ReplayOptions& options, const std::vector<int>& threads,
    const std::function<bool()>& is_over);

}  // namespace understudy::calibrator
