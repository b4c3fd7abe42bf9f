#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "mpi_types.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// Makes MPI requests that complete together. `comms` is indexed by channel. `comms` and
/// `reductions` must outlive the transfers.
[[nodiscard]] std::unique_ptr<Transfers> make_mpi_transfers(const std::vector<MPI_Comm>& comms,
                                                            MpiReductions& reductions);

}  // namespace understudy::backends
