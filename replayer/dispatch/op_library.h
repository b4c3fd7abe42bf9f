#pragma once

#include <string>
#include <vector>

namespace understudy::replayer {

/// What came of loading an op library.
struct OpLibrary {
  std::string path;                ///< as the user gave it
  std::vector<std::string> files;  ///< the shared libraries that were loaded, in order
  struct Failure {
    std::string file;
    std::string reason;  ///< the loader's own text
    bool operator==(const Failure&) const = default;
  };
  std::vector<Failure> failures;       ///< of a folder: libraries that did not load, whatever order
  std::vector<std::string> operators;  ///< names that were not registered before, sorted
};

/// Loads custom operators into this process, for its whole life. `path` is one shared library, or a
/// folder whose *.so files are loaded in an order in which each finds what it needs (found by
/// trying). Python is not needed. Throws Error: no such file or folder, not a shared library, a
/// library that does not load (symbols missing: which LibTorch this is), a folder without a library
/// that loads (usage: status 2).
[[nodiscard]] OpLibrary load_op_library(const std::string& path);

}  // namespace understudy::replayer
