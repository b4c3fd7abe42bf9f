#pragma once

#include "et_schema/support/shared_library.h"

namespace understudy::replayer {

/// CUDA's driver, which is in the process once a device is open. It has no functions where there is
/// none.
[[nodiscard]] inline const et_schema::SharedLibrary& cuda_driver() {
  static const et_schema::SharedLibrary driver("libcuda.so.1", RTLD_LOCAL);
  return driver;
}

}  // namespace understudy::replayer
