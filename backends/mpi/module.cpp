#include "backends/backend.h"
#include "mpi_backend.h"

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions& options) {
  return std::make_unique<understudy::backends::MpiBackend>(options).release();
}
