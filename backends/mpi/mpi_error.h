#pragma once

#include <mpi.h>

#include <string>

namespace understudy::backends {

/// MPI's text for an error code.
[[nodiscard]] std::string mpi_error_text(int code);

/// Throws Error (failed) with MPI's text unless `code` is MPI_SUCCESS; `doing` completes "MPI
/// failed in …".
void check_mpi(int code, const std::string& doing);

}  // namespace understudy::backends
