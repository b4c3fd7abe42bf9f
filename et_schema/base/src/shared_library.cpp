#include "et_schema/base/shared_library.h"

#include <filesystem>
#include <system_error>

#include "et_schema/base/open_library.h"

namespace understudy::et_schema {

std::string module_directory() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path folder = program.parent_path();
  const bool of_a_torch = folder.filename().string().starts_with("torch-");  // libexec/torch-2.11
  return ((of_a_torch ? folder.parent_path() : folder).parent_path() / "lib/understudy").string();
}

SharedLibrary::SharedLibrary(const std::string& file, int flags, Refusal refusal)
    : handle_(open_library(file, flags)), refusal_(std::move(refusal)) {
  if (handle_ == nullptr && refusal_) {
    const char* const reason = dlerror();
    throw refusal_(file, reason == nullptr ? "an unknown failure" : reason);
  }
}

void* SharedLibrary::address_of(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

}  // namespace understudy::et_schema
