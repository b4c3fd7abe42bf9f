#include "replayer/backends/interface/backend.h"

// Linked into each backend's module. load.cpp compares the version before it makes a backend.
extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}
