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
/// driver's library in the current folder, which may hold a stranger's files, and so does the
/// loader, where a part of LD_LIBRARY_PATH is relative or empty: it starts in "/".
inline void* open_library(const std::filesystem::path& file, int flags = RTLD_GLOBAL) {
  const std::string found =
      (file.has_parent_path() ? std::filesystem::absolute(file) : file).string();
  const RootFolder elsewhere;
  return ::dlopen(found.c_str(), RTLD_NOW | flags);
}

}  // namespace understudy::et_schema
