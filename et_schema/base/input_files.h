#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Limits of what an input may unpack to, against archive bombs and for machines with too little
/// memory (see input_limit.h).
struct ReadLimits {
  std::uint64_t max_file_bytes = std::uint64_t{4} << 30U;    ///< one uncompressed file
  std::uint64_t max_total_bytes = std::uint64_t{64} << 30U;  ///< all files of one input
  std::uint64_t max_ratio = 200;  ///< uncompressed ÷ compressed, above 64 MiB
  /// The part of the input that may be in memory at a time, unpacked: all traces together, or any
  /// other file alone.
  std::uint64_t max_held_bytes = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> available_bytes = {};  ///< memory that max_held_bytes follows from
  int processes = 1;  ///< number of processes that share this memory
};

/// The limits of readers that are given no others: those of set_process_limits(), or by this
/// machine's available memory. The process has one set, as it has one memory: so no reader can be
/// forgotten.
[[nodiscard]] const ReadLimits& process_limits();
/// To be called before anything is read, and not while a reader runs on another thread.
void set_process_limits(const ReadLimits& limits);

/// One file of an input, unpacked.
struct InputFile {
  std::string name;  ///< path, or "archive/member"
  std::string data;
};

/// Unpacks a file (plain, .gz), an archive (.tar, .tar.gz, .zip) or a folder into its JSON files
/// and other traces. Passes each to `consume`, one in memory at a time: a folder's in the order of
/// names, an archive's in its own order. The content decides what a file is, not the name; other
/// files in folders and archives are ignored. Throws Error (bad input): cannot be read, truncated
/// gzip, member names with "..", a bomb; Error (failed) above max_held_bytes.
void read_input_files(const std::string& path, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume);
/// The same for a file or archive in memory; `name` names it in errors.
void read_input_bytes(std::string_view bytes, const std::string& name, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume);

/// Whether a regular file may be an input for these functions, by its name and its first bytes.
/// Throws Error (bad input): cannot be read.
[[nodiscard]] bool may_be_input(const std::string& path);

}  // namespace understudy::et_schema
