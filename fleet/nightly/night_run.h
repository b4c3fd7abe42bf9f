#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "fleet/nightly/options.h"

namespace understudy::fleet {

/// How far a night is.
struct NightProgress {
  std::string phase;  ///< "benchmarks", "replays", "waiting for other workers"
  std::size_t done = 0;
  std::size_t total = 0;
};
using OnProgress = std::function<void(const NightProgress&)>;

/// The whole of a night: opens one or joins the open one, works on it with `options.jobs` threads
/// until nothing is left, closes it. The summary that the night was closed with, JSON
/// ("understudy-night", docs/formats.md). If it is killed at any moment, the next call continues.
[[nodiscard]] std::string run_night(const NightOptions& options, const OnProgress& on_progress);

/// Works on the open night alone, without opening or closing one. False if none is open. `kinds`:
/// "generate", "replay" or both.
bool run_worker(const NightOptions& options, const std::vector<std::string>& kinds,
                const OnProgress& on_progress);

/// run_night() with workers that `submit` starts elsewhere (Slurm): it is called once the night is
/// planned, and returns when they ended.
[[nodiscard]] std::string run_night_elsewhere(const NightOptions& options,
                                              const std::function<void()>& submit);

}  // namespace understudy::fleet
