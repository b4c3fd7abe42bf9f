#pragma once

#include <dlfcn.h>

namespace understudy::replayer {

/// Returns a function of CUDA's runtime or of LibTorch's CUDA library, which are loaded once a
/// device is open, but not linked. Null if the function does not exist.
template <typename Function>
Function* loaded_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace understudy::replayer
