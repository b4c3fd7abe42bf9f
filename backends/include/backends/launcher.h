#pragma once

#include <optional>
#include <string>

namespace understudy::backends {

/// The number of ranks that a launcher (mpirun of Open MPI, MPICH and its kin, srun) started this
/// process with, told by the environment alone: no MPI is initialised. Absent: started by hand.
/// 0: a launcher is there but does not tell the number (PMIx alone).
[[nodiscard]] std::optional<int> launched_world_size();

/// The number of this process among those of its host, as the launcher or torchrun tells it; absent
/// where none does.
[[nodiscard]] std::optional<int> launched_local_rank();

/// Where the modules of an installed or built program lie: `../lib/understudy` beside the folder of
/// the running program.
[[nodiscard]] std::string module_directory();

}  // namespace understudy::backends
