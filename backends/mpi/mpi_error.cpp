#include "mpi_error.h"

#include <fmt/format.h>

#include <array>

#include "et_schema/support/error.h"

namespace understudy::backends {

std::string mpi_error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return fmt::format("error {}", code);
  }
  return std::string(text.data(), static_cast<std::size_t>(length));
}

void check_mpi(int code, const std::string& doing) {
  if (code == MPI_SUCCESS) {
    return;
  }
  et_schema::ErrorContext context;
  context.got = mpi_error_text(code);
  throw et_schema::run_failed(fmt::format("MPI failed in {}", doing), std::move(context));
}

}  // namespace understudy::backends
