#pragma once

#include <vector>

#include "replayer/backends/interface/launcher.h"
#include "socket.h"

namespace understudy::backends {

/// The variable with a secret of the job's ranks, which launchers pass on to them. Without it
/// anybody who reaches the store can call himself a rank.
inline constexpr const char* kJobKey = "UNDERSTUDY_JOB_KEY";

/// A connection to each other rank, by world rank; the own one is closed. The ranks meet at c10d's
/// store on the launch's address: the one that torchrun holds there, else one that rank 0 makes.
/// Each two prove to each other that they know the job's key. Throws Error (usage) for a launch
/// without an address, Error (failed) when a rank does not come within the time limit.
[[nodiscard]] std::vector<Socket> meet_ranks(const Launch& launch, double time_limit_s);

}  // namespace understudy::backends
