#pragma once

#include <optional>
#include <string>

#include "replayer/backends/interface/launcher.h"

namespace understudy::backends {

/// Finds out which ranks on this host have reached MPI's set-up. MPI waits for all ranks there and
/// does not name a missing one. So each rank first binds a socket to a name made of the job and the
/// rank. The system releases the name when the process ends.
class RollCall {
 public:
  /// Binds this rank's name if the launcher reports job and rank.
  RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;
  ~RollCall();

  /// Describes the missing ranks, as far as this host knows them: "rank 2 has not come to it", "of
  /// the 4 ranks on this host 0, 1, 3 have come to it", "some rank has not come to it".
  [[nodiscard]] std::string missing() const;

 private:
  [[nodiscard]] bool has_come(int rank) const;

  std::optional<Launch> launch_;
  std::optional<std::string> job_;
  int name_ = -1;  ///< the socket bound to this rank's name
};

}  // namespace understudy::backends
