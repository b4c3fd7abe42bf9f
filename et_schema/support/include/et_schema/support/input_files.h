#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Bounds on what an input may unpack to, against bombs and against machines that are too small
/// for it (see input_limit.h).
struct ReadLimits {
  std::uint64_t max_file_bytes = std::uint64_t{4} << 30U;    ///< one uncompressed file
  std::uint64_t max_total_bytes = std::uint64_t{64} << 30U;  ///< all files of one input
  std::uint64_t max_ratio = 200;  ///< uncompressed ÷ compressed, above 64 MiB
  /// What of the input may be in memory at a time, unpacked: all traces, each other file alone.
  std::uint64_t max_held_bytes = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> available_bytes = {};  ///< that it follows from
  int processes = 1;                                  ///< that share them
};

/// What readers take where they are given no others: set_process_limits(), or by this machine's
/// available memory. One for the process, as its memory is: no reader can be forgotten.
[[nodiscard]] const ReadLimits& process_limits();
/// Before anything is read, and not beside a reader on another thread.
void set_process_limits(const ReadLimits& limits);

/// One file of an input, unpacked.
struct InputFile {
  std::string name;  ///< path, or "archive/member"
  std::string data;
};

/// Unpacks a file (plain, .gz), an archive (.tar, .tar.gz, .zip) or a folder into its JSON files
/// and other traces, each handed to `consume`, one in memory at a time: a folder's in the order of
/// names, an archive's in its own. Told by content, not by name; of folders and archives, what is
/// neither is passed over. Throws Error (bad input): cannot be read, truncated gzip, member names
/// with "..", a bomb; Error (failed) above max_held_bytes.
void read_input_files(const std::string& path, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume);
/// The same for a file or archive in memory; `name` names it in errors.
void read_input_bytes(std::string_view bytes, const std::string& name, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume);

/// Whether a regular file may hold something for these, by its name and its first bytes. Throws
/// Error (bad input): cannot be read.
[[nodiscard]] bool may_be_input(const std::string& path);

}  // namespace understudy::et_schema
