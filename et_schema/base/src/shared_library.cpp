#include "et_schema/base/shared_library.h"

namespace understudy::et_schema {

SharedLibrary::SharedLibrary(const std::string& file, int flags, Refusal refusal)
    : handle_(dlopen(file.c_str(), RTLD_NOW | flags)),
      is_open_(handle_ != nullptr),
      refusal_(std::move(refusal)) {
  if (!is_open_ && refusal_) {
    const char* const reason = dlerror();
    throw refusal_(file, reason == nullptr ? "an unknown failure" : reason);
  }
}

void* SharedLibrary::address_of(const char* symbol) const {
  return is_open_ ? dlsym(handle_, symbol) : nullptr;
}

}  // namespace understudy::et_schema
