#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace understudy::backends {

/// How a launcher started this process as one of several, according to the environment alone.
struct Launch {
  /// How the ranks find each other.
  enum class Meeting : std::uint8_t {
    kMpi,   ///< through MPI: mpirun of Open MPI, MPICH and its derivatives, srun with PMI
    kStore  ///< through c10d's store on `address`: torchrun, Kubernetes, srun without PMI
  };
  Meeting meeting = Meeting::kMpi;
  int world_size = 0;   ///< 0: the launcher does not report the number (PMIx alone)
  int rank = 0;         ///< valid if world_size is known
  std::string address;  ///< of the store; empty: unknown
  int port = 0;
};

/// Returns nothing if the process was started by hand.
[[nodiscard]] std::optional<Launch> launched();

/// Returns the number of this process among the processes of its host, as reported by the launcher
/// or torchrun; otherwise nothing.
[[nodiscard]] std::optional<int> launched_local_rank();

/// Returns the number of processes started on this host, if the launcher reports it.
[[nodiscard]] std::optional<int> launched_local_size();

/// Returns an id that distinguishes this job from others on its host: PMIx's namespace, or Slurm's
/// job and step. Returns nothing if the launcher reports neither.
[[nodiscard]] std::optional<std::string> launched_job();

/// Returns how to start `replay` on this many ranks, with MPI and without, for hints.
[[nodiscard]] std::string how_to_start(int ranks);

}  // namespace understudy::backends
