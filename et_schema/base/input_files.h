#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Limits on the unpacked size of an input: protect against archive bombs and running out of memory
/// (see input_limit.h).
struct ReadLimits {
  std::uint64_t max_file_bytes = std::uint64_t{4} << 30U;    ///< one uncompressed file
  std::uint64_t max_total_bytes = std::uint64_t{64} << 30U;  ///< all files of one input
  std::uint64_t max_ratio = 200;  ///< uncompressed ÷ compressed; checked above 64 MiB
  /// Unpacked bytes that may be in memory at a time: all traces together, or one other file.
  std::uint64_t max_held_bytes = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> available_bytes = {};  ///< max_held_bytes derives from it
  int processes = 1;  ///< number of processes that share this memory
};

/// Returns the default limits of all readers: those of set_process_limits(), or else derived from
/// the machine's available memory. Global, so that no reader can omit them.
[[nodiscard]] const ReadLimits& process_limits();
/// Sets the default limits. Must be called before anything is read; not thread-safe.
void set_process_limits(const ReadLimits& limits);

/// One file of an input, unpacked.
struct InputFile {
  std::string name;  ///< path, or "archive/member"
  std::string data;
};

/// Unpacks a file (plain, .gz), an archive (.tar, .tar.gz, .zip) or a folder into its JSON files
/// and other traces. Passes each file to `consume`, with one in memory at a time, in the order of a
/// folder's names or of an archive's members. The content decides the type of a file, not its name;
/// other files in folders and archives are ignored. Throws Error (bad input) if a file cannot be
/// read, a gzip is truncated, a member's name contains "..", or the input is an archive bomb; Error
/// (failed) above max_held_bytes.
void read_input_files(const std::string& path, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume);
/// Like read_input_files() for a file or archive in memory; `name` names it in errors.
void read_input_bytes(std::string_view bytes, const std::string& name, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume);

}  // namespace understudy::et_schema
