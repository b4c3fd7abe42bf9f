#pragma once

#include <string>

namespace understudy::fleet {

/// State of a job's files, determined without reading them.
struct InputState {
  std::string stat;        ///< digest of names, sizes, times and inodes
  bool is_recent = false;  ///< a file changed so recently that its next change might go unnoticed
};

/// Returns the state of a file, or of all files below a folder except hidden ones. Throws Error
/// (bad input) if there are none.
[[nodiscard]] InputState input_state(const std::string& path);

/// Returns the digest of the names and contents of these files. Reads them in pieces.
[[nodiscard]] std::string input_hash(const std::string& path);

}  // namespace understudy::fleet
