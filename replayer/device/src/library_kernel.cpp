#include "replayer/device/library_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>

#include "et_schema/support/content_hash.h"

namespace understudy::replayer {
namespace {

bool has_vectors_of(std::string_view processor) {
#if defined(__x86_64__)
  const bool third = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                     __builtin_cpu_supports("bmi2") != 0;
  const bool fourth =
      third && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
  return (processor == "x86-64-v3" && third) || (processor == "x86-64-v4" && fourth);
#else
  return false;
#endif
}

/// What the dynamic linker says.
std::string last_error() {
  const char* said = dlerror();
  return said != nullptr ? said : "no reason given";
}

/// The library, from memory: nothing is written to a disk, and the sandbox need not allow it.
std::variant<void*, std::string> load(const std::string& bytes) {
  const int file = memfd_create("kernels", MFD_CLOEXEC);
  if (file < 0) {
    return "there is no memory for its machine code";
  }
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t more = write(file, bytes.data() + written, bytes.size() - written);
    if (more <= 0) {
      close(file);
      return "there is no memory for its machine code";
    }
    written += static_cast<std::size_t>(more);
  }
  void* library = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string why = library == nullptr ? last_error() : "";
  close(file);
  return library != nullptr ? std::variant<void*, std::string>(library)
                            : "its machine code does not load: " + std::move(why);
}

}  // namespace

std::variant<LibraryKernel, std::string> load_library_kernel(const et_schema::LibraryBuild& build) {
  if (!has_vectors_of(build.processor)) {
    return fmt::format("its machine code is for {}, which this processor is not", build.processor);
  }
  static std::mutex mutex;
  static std::map<std::uint64_t, std::variant<void*, std::string>> known;
  const std::scoped_lock lock(mutex);
  const auto [entry, is_new] = known.try_emplace(et_schema::content_hash(*build.library.bytes));
  if (is_new) {
    entry->second = load(*build.library.bytes);
  }
  if (const auto* why = std::get_if<std::string>(&entry->second)) {
    return *why;
  }
  void* const function = dlsym(std::get<void*>(entry->second), build.function.c_str());
  if (function == nullptr) {
    return "its machine code has no function " + build.function;
  }
  return reinterpret_cast<LibraryKernel>(function);
}

}  // namespace understudy::replayer
