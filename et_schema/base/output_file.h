#pragma once

#include <cstdint>
#include <string>

namespace understudy::et_schema {

/// What write_file_atomically() does with a path:
enum class OutputPlace : std::uint8_t {
  kNewFile,  ///< nothing or a file is there: a new file takes its place when it is whole
  kInPlace,  ///< a device, a pipe, or what is open already (/dev/stdout): written to as it is
  kFolder,   ///< refused
  kLink      ///< a symbolic link to a file or to nothing: refused, neither followed nor replaced
};
[[nodiscard]] OutputPlace output_place(const std::string& path);

/// Writes a file beside `path` and renames it when it is whole. Throws Error (failed).
void write_file_atomically(const std::string& path, const std::string& content);

}  // namespace understudy::et_schema
