#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace understudy::et_schema {

/// Another current folder, for its lifetime. Not for use beside other threads.
class RootFolder {
 public:
  RootFolder() : here_(::open(".", O_PATH | O_CLOEXEC)) { static_cast<void>(!::chdir("/")); }
  ~RootFolder() {
    static_cast<void>(!::fchdir(here_));
    ::close(here_);
  }
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

 private:
  int here_;
};

/// Returns dlopen()'s handle. A library of LibTorch's for CUDA (libcusparseLt) looks for the
/// driver's library in the current folder, which may hold a stranger's files: it starts in "/".
inline void* open_library(const std::filesystem::path& file) {
  const std::string absolute = std::filesystem::absolute(file).string();
  const RootFolder elsewhere;
  return ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace understudy::et_schema
