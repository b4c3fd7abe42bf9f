#include "mpi_wire.h"
#include "replayer/backends/ranks/wire.h"

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions& options) {
  return understudy::backends::make_ranks_backend(
             std::make_unique<understudy::backends::MpiWire>(options), options)
      .release();
}
