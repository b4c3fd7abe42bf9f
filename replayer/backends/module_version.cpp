#include "replayer/backends/interface/backend.h"

// In each backend's module: what load.cpp asks before it makes anything.
extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}
