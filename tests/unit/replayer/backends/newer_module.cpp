// A module of the next version of the interface.
#include "replayer/backends/interface/backend.h"

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion + 1;
}

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions&) {
  return nullptr;
}
