#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::backends {

/// Throws Error (failed) with MPI's text unless `code` is MPI_SUCCESS; `doing` completes "MPI
/// failed in …".
inline void check_mpi(int code, const std::string& doing) {
  if (code == MPI_SUCCESS) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  const bool is_known = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
  throw et_schema::run_failed(fmt::format("MPI failed in {}", doing),
                              {.got = is_known ? text.data() : fmt::format("error {}", code)});
}

}  // namespace understudy::backends
