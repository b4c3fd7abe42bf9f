#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "fleet/nightly/options.h"

namespace understudy::fleet {

/// Progress of a night.
struct NightProgress {
  std::string phase;  ///< "benchmarks", "replays", "waiting for other workers"
  std::size_t done = 0;
  std::size_t total = 0;
};
using OnProgress = std::function<void(const NightProgress&)>;

/// Runs a whole night: opens one or joins the open one, works on it with `options.jobs` threads
/// until nothing is left, and closes it. Returns the night's summary as JSON ("understudy-night",
/// docs/formats.md). If the process is killed, the next call continues.
[[nodiscard]] std::string run_night(const NightOptions& options, const OnProgress& on_progress);

/// Works on the open night without opening or closing one. Returns false if none is open. `kinds`:
/// "generate", "replay" or both.
bool run_worker(const NightOptions& options, const std::vector<std::string>& kinds,
                const OnProgress& on_progress);

/// Like run_night(), with workers that `submit` starts elsewhere (Slurm). Calls `submit` once the
/// night is planned; `submit` must return when the workers have ended.
[[nodiscard]] std::string run_night_elsewhere(const NightOptions& options,
                                              const std::function<void()>& submit);

}  // namespace understudy::fleet
