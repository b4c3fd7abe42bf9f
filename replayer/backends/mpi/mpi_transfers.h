#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "mpi_types.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// MPI requests that are complete together. `comms`: by channel. Both must outlive the transfers.
[[nodiscard]] std::unique_ptr<Transfers> make_mpi_transfers(const std::vector<MPI_Comm>& comms,
                                                            MpiReductions& reductions);

}  // namespace understudy::backends
