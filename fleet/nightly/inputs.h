#pragma once

#include <string>

namespace understudy::fleet {

/// What the file system knows of a job's files without reading them.
struct InputState {
  std::string stat;        ///< digest of names, sizes, times and inodes
  bool is_recent = false;  ///< some file changed so lately that its next change could look the same
};

/// The state of a file, or of all files below a folder but hidden ones. Throws Error (bad input) if
/// there are none.
[[nodiscard]] InputState input_state(const std::string& path);

/// Digest of the names and the content of these files. Reads them in pieces.
[[nodiscard]] std::string input_hash(const std::string& path);

}  // namespace understudy::fleet
