#pragma once

#include <cstdint>
#include <string>

namespace understudy::et_schema {

/// How write_file_atomically() treats a path.
enum class OutputPlace : std::uint8_t {
  kNewFile,  ///< a file or nothing: a new file replaces it when complete
  kInPlace,  ///< a device, a pipe or an open file (/dev/stdout): written in place
  kFolder,   ///< refused
  kLink      ///< a symbolic link to a file, or a broken one: refused, neither followed nor replaced
};
[[nodiscard]] OutputPlace output_place(const std::string& path);

/// Writes a temporary file beside `path` and renames it when it is complete. Throws Error (failed).
void write_file_atomically(const std::string& path, const std::string& content);

/// Does the same below a folder that the user named: `name` is "bench/run.py". Makes folders that
/// are missing. What lies in the folder may be somebody else's: neither it nor anything below it is
/// reached through a symbolic link.
void write_below(const std::string& folder, const std::string& name, const std::string& content);

}  // namespace understudy::et_schema
