#pragma once

#include <optional>
#include <string>

#include "replayer/backends/interface/launcher.h"

namespace understudy::backends {

/// Which ranks have come so far, as their host knows. MPI's set-up waits for all of them and names
/// none. So each rank takes a name of the job's among the host's sockets before it waits; the name
/// goes with the process.
class RollCall {
 public:
  /// Takes this rank's name where the launcher tells job and rank.
  RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;
  ~RollCall();

  /// Who is missing, as far as this host can tell: "rank 2 has not come to it", "of the 4 ranks on
  /// this host 0, 1, 3 have come to it", "some rank has not come to it".
  [[nodiscard]] std::string missing() const;

 private:
  [[nodiscard]] bool has_come(int rank) const;

  std::optional<Launch> launch_;
  std::optional<std::string> job_;
  int name_ = -1;  ///< the socket that holds it
};

}  // namespace understudy::backends
