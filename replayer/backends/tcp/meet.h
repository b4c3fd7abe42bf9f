#pragma once

#include <vector>

#include "replayer/backends/interface/launcher.h"
#include "socket.h"

namespace understudy::backends {

/// Environment variable with a secret of the job's ranks, which launchers pass on to them. Without
/// it, anyone who can reach the store can pose as a rank.
inline constexpr const char* kJobKey = "UNDERSTUDY_JOB_KEY";

/// Connects to each other rank. Returns the connections by world rank; this rank's own is closed.
/// The ranks exchange addresses through c10d's store at the launch's address: torchrun's store, or
/// one that rank 0 creates. Each pair of ranks proves to each other that it knows the job's key.
/// Throws Error (usage) if the launch has no address, and Error (failed) if a rank does not connect
/// within the time limit.
[[nodiscard]] std::vector<Socket> meet_ranks(const Launch& launch, double time_limit_s);

}  // namespace understudy::backends
