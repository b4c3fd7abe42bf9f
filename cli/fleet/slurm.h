#pragma once

#include <string>
#include <vector>

#include "fleet/nightly/options.h"

namespace understudy::cli {

/// How a night is given to Slurm.
struct SlurmOptions {
  std::vector<std::string> flags;  ///< more, for every sbatch: --partition=…
  std::size_t replay_nodes = 1;    ///< nodes that replay, each alone
};

/// The commands: an array of workers that make benchmarks, then one of workers that replay, a node
/// each and alone on it. Each returns when its jobs have ended; what they print is in slurm_logs().
[[nodiscard]] std::vector<std::vector<std::string>> slurm_commands(
    const fleet::NightOptions& options, const SlurmOptions& slurm, const std::string& program);

/// The folder of the workers' output, a file each.
[[nodiscard]] std::string slurm_logs(const fleet::NightOptions& options);

/// Runs them. Throws Error (failed) where sbatch does not take a job; a worker that fails leaves
/// its work to others.
void run_on_slurm(const std::vector<std::vector<std::string>>& commands);

}  // namespace understudy::cli
