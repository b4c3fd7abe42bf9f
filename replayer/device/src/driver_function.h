#pragma once

#include <dlfcn.h>

namespace understudy::replayer {

/// A function of CUDA's driver, which is in the process once a device is open. Null if there is no
/// driver, or if it lacks the function.
template <typename Function>
[[nodiscard]] Function* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

}  // namespace understudy::replayer
