#include "et_schema/base/shared_library.h"

#include <filesystem>
#include <system_error>

namespace understudy::et_schema {

std::string module_directory() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "lib" / "understudy").string();
}

SharedLibrary::SharedLibrary(const std::string& file, int flags, Refusal refusal)
    : handle_(dlopen(file.c_str(), RTLD_NOW | flags)), refusal_(std::move(refusal)) {
  if (handle_ == nullptr && refusal_) {
    const char* const reason = dlerror();
    throw refusal_(file, reason == nullptr ? "an unknown failure" : reason);
  }
}

void* SharedLibrary::address_of(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

}  // namespace understudy::et_schema
