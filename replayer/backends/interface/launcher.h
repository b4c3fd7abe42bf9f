#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace understudy::backends {

/// How a launcher started this process among others, told by the environment alone.
struct Launch {
  /// How the ranks find each other.
  enum class Meeting : std::uint8_t {
    kMpi,   ///< by MPI: mpirun of Open MPI, MPICH and its kin, srun with PMI
    kStore  ///< at c10d's store on `address`: torchrun, Kubernetes, srun without PMI
  };
  Meeting meeting = Meeting::kMpi;
  int world_size = 0;   ///< 0: the launcher does not tell the number (PMIx alone)
  int rank = 0;         ///< where world_size is known
  std::string address;  ///< of the store; empty: not told
  int port = 0;
};

/// Absent: started by hand.
[[nodiscard]] std::optional<Launch> launched();

/// The number of this process among those of its host, as the launcher or torchrun tells it; absent
/// where none does.
[[nodiscard]] std::optional<int> launched_local_rank();

/// How many processes were started on this host, where the launcher tells it.
[[nodiscard]] std::optional<int> launched_local_size();

/// What tells this job from others on its host: PMIx's namespace, Slurm's job and step; absent
/// where the launcher tells neither.
[[nodiscard]] std::optional<std::string> launched_job();

/// Where the modules of an installed or built program lie: `../lib/understudy` beside the folder of
/// the running program.
[[nodiscard]] std::string module_directory();

}  // namespace understudy::backends
