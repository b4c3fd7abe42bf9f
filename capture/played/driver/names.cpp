// How functions are found by name, and how those that are not played say theirs.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "capture/played/played.h"

namespace {

std::atomic<void (*)(const char*)> listener = nullptr;

/// This library, whatever other drivers the process has.
void* own_library() {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&played_refuse), &info);
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

/// The function of the newest version: cuMemCreate is cuMemCreate, cuMemAlloc is cuMemAlloc_v2.
void* find(const std::string& name) {
  static void* const kLibrary = own_library();
  for (const char* version : {"", "_v4", "_v3", "_v2"}) {
    if (void* const found = dlsym(kLibrary, (name + version).c_str())) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

void played_on_refusal(void (*told)(const char* what)) {
  listener = told;
}

void played_refuse(const char* what) {
  if (const auto tell = listener.load()) {
    tell(what);
  } else {
    std::fprintf(stderr, "understudy: %s\n", what);
  }
}

CUresult cuGetProcAddress(const char* name, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult* result) {
  *function = find(name);
  if (result != nullptr) {
    *result =
        *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
