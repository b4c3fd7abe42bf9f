// A module whose library the loader cannot find.
#include "replayer/backends/interface/backend.h"

int understudy_absent_function();

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion * understudy_absent_function();
}
