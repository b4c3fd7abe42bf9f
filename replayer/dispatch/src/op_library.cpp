#include "replayer/dispatch/op_library.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/open_library.h"

namespace understudy::replayer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& summary, const std::string& path,
                         const std::string& expected, const std::string& got,
                         const std::string& hint) {
  throw et_schema::usage_error(
      summary,
      {.file = path, .field = "--op-library", .expected = expected, .got = got, .hint = hint});
}

std::set<std::string> registered_operators() {
  std::set<std::string> names;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    names.insert(c10::toString(name));
  }
  return names;
}

/// Returns the reason why the library did not load; nothing if it did. The handle is never closed:
/// operators stay registered until the process ends.
std::optional<std::string> load(const fs::path& file) {
  dlerror();
  try {
    if (et_schema::open_library(file) != nullptr) {
      return std::nullopt;
    }
  } catch (const std::exception& error) {
    return fmt::format("its registration failed: {}", error.what());
  }
  const char* reason = dlerror();
  return reason != nullptr ? std::string(reason) : "the loader gave no reason";
}

/// Loads libtorch.so, which op libraries link to, from the folder of the dispatcher's library. This
/// program does not link it, since with the CUDA wheel it loads hundreds of megabytes.
void load_whole_libtorch() {
  Dl_info info{};
  if (dladdr(&c10::Dispatcher::singleton(), &info) != 0 && info.dli_fname != nullptr) {
    // If it is missing, the op library's own failure names the missing symbols.
    static_cast<void>(load(fs::path(info.dli_fname).parent_path() / "libtorch.so"));
  }
}

bool misses_symbols(const std::string& reason) {
  return reason.find("undefined symbol") != std::string::npos ||
         reason.find("version `") != std::string::npos;
}

std::string hint_for(const std::string& reason) {
  if (misses_symbols(reason)) {
    return fmt::format(
        "this is LibTorch {}: install the build of the library that was made for it; a library "
        "that needs others beside it is loaded with them by giving its folder",
        TORCH_VERSION);
  }
  if (reason.find("cannot open shared object file") != std::string::npos) {
    return "give the folder that holds the libraries it needs, or put them on LD_LIBRARY_PATH";
  }
  return fmt::format("give a shared library (.so) of operators built for LibTorch {}",
                     TORCH_VERSION);
}

std::vector<fs::path> libraries_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".so") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Loads in rounds: a library that needs another one of the folder is retried after that one has
/// loaded, until a round loads nothing.
void load_folder(const fs::path& folder, OpLibrary& library) {
  std::vector<fs::path> pending = libraries_in(folder);
  if (pending.empty()) {
    refuse("no op library in this folder", library.path, "a folder with shared libraries (*.so)",
           "none", "give the library itself, or the folder it lies in");
  }
  bool progress = true;
  while (progress && !pending.empty()) {
    progress = false;
    library.failures.clear();
    std::vector<fs::path> failed;
    for (const fs::path& file : pending) {
      if (std::optional<std::string> reason = load(file)) {
        library.failures.push_back({file.string(), *std::move(reason)});
        failed.push_back(file);
      } else {
        library.files.push_back(file.string());
        progress = true;
      }
    }
    pending = std::move(failed);
  }
  if (library.files.empty()) {
    const OpLibrary::Failure& first = library.failures.front();
    refuse("no library of this folder loads", library.path,
           "libraries of operators for this LibTorch", first.reason, hint_for(first.reason));
  }
}

void load_file(const fs::path& file, OpLibrary& library) {
  if (const std::optional<std::string> reason = load(file)) {
    refuse("the op library does not load", library.path, "a shared library of operators", *reason,
           hint_for(*reason));
  }
  library.files.push_back(file.string());
}

}  // namespace

OpLibrary load_op_library(const std::string& path) {
  std::error_code ignored;
  const fs::path given = fs::absolute(path, ignored);
  if (path.empty() || !fs::exists(given, ignored)) {
    refuse("no such op library", path, "a shared library, or a folder of them",
           "no such file or folder",
           "for fbgemm operators give the folder of the installed fbgemm_gpu");
  }
  OpLibrary library{.path = path, .files = {}, .failures = {}, .operators = {}};
  load_whole_libtorch();
  const std::set<std::string> before = registered_operators();
  if (fs::is_directory(given)) {
    load_folder(given, library);
  } else {
    load_file(given, library);
  }
  const std::set<std::string> after = registered_operators();
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(library.operators));
  return library;
}

}  // namespace understudy::replayer
