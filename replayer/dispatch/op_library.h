#pragma once

#include <string>
#include <vector>

namespace understudy::replayer {

/// The result of loading an op library.
struct OpLibrary {
  std::string path;                ///< as the user wrote it
  std::vector<std::string> files;  ///< the shared libraries loaded, in order
  struct Failure {
    std::string file;
    std::string reason;  ///< the loader's message
    bool operator==(const Failure&) const = default;
  };
  std::vector<Failure> failures;       ///< libraries of a folder that did not load in any order
  std::vector<std::string> operators;  ///< newly registered names, sorted
};

/// Loads custom operators into this process until it ends. `path` is a shared library, or a folder
/// whose *.so files are loaded in an order that satisfies their dependencies (found by trying).
/// Python is not needed. Throws Error (usage: status 2) if `path` does not exist, is not a shared
/// library, does not load (missing symbols: the message names this LibTorch), or is a folder
/// without a library that loads.
[[nodiscard]] OpLibrary load_op_library(const std::string& path);

}  // namespace understudy::replayer
