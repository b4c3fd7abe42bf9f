#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

/// How a file is packed, according to its first bytes.
enum class Packing : std::uint8_t { kPlain, kGzip, kArchive };

/// Size of a file's start that find_packing() and the first check of its text need, in bytes.
inline constexpr std::size_t kSniffBytes = std::size_t{64} << 10U;

[[nodiscard]] Packing find_packing(std::string_view start);

/// Progress of unpacking one file: an archive with all its members, or a gzipped file. Both counts
/// are 0 for a plain file.
struct Unpacking {
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
};

/// Counts the unpacked bytes of one input and checks them against the limits.
class UnpackBudget {
 public:
  explicit UnpackBudget(const ReadLimits& limits) : limits_(limits) {}

  /// Adds `bytes` of a file that has `file_bytes` unpacked so far. Throws Error above the limits:
  /// failed above max_held_bytes, otherwise bad input.
  void add(const std::string& name, std::uint64_t bytes, std::uint64_t file_bytes,
           const Unpacking& unpacking);
  /// Counts unpacked bytes that stay in memory, possibly in another form.
  void keep(std::uint64_t bytes) { kept_ += bytes; }

 private:
  ReadLimits limits_;
  std::uint64_t total_ = 0;
  std::uint64_t kept_ = 0;
};

/// Source of packed bytes: a file or memory.
struct PackedSource {
  std::string name;         ///< for errors; also the prefix of members' names
  std::string path;         ///< of a file; empty for memory
  std::string_view memory;  ///< used if `path` is empty
};

/// Unpacks a gzipped file, or the JSON files of an archive, plain or gzipped. Throws as
/// read_input_files() does.
void unpack(const PackedSource& source, UnpackBudget& budget,
            const std::function<void(InputFile&&)>& consume);

/// Like the other read_input_files(), with a budget that several inputs share.
void read_input_files(const std::string& path, UnpackBudget& budget,
                      const std::function<void(InputFile&&)>& consume);

}  // namespace understudy::et_schema
