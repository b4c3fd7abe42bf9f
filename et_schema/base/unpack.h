#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

/// How a file is packed, as its first bytes show.
enum class Packing : std::uint8_t { kPlain, kGzip, kArchive };

/// Bytes of a file's start that find_packing() and the first check of its text need.
inline constexpr std::size_t kSniffBytes = std::size_t{64} << 10U;

[[nodiscard]] Packing find_packing(std::string_view start);

/// How far one packed file is unpacked: an archive with all its members, or a file that is gzipped
/// alone. Both counts are 0 for a plain file.
struct Unpacking {
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
};

/// Counts what one input has unpacked to, against the limits.
class UnpackBudget {
 public:
  explicit UnpackBudget(const ReadLimits& limits) : limits_(limits) {}

  /// Adds bytes of one file, of which `file_bytes` are unpacked so far. Throws Error above the
  /// limits: bad input, or failed above what may be in memory.
  void add(const std::string& name, std::uint64_t bytes, std::uint64_t file_bytes,
           const Unpacking& unpacking);
  /// Counts bytes that were unpacked and stay in memory, even in another form.
  void keep(std::uint64_t bytes) { kept_ += bytes; }

 private:
  ReadLimits limits_;
  std::uint64_t total_ = 0;
  std::uint64_t kept_ = 0;
};

/// Where packed bytes come from: a file by its path, or memory.
struct PackedSource {
  std::string name;         ///< for errors, and the front of members' names
  std::string path;         ///< of a file; empty for memory
  std::string_view memory;  ///< where there is no path
};

/// Unpacks a gzipped file, or the JSON files of an archive, plain or gzipped. Throws as
/// read_input_files() does.
void unpack(const PackedSource& source, UnpackBudget& budget,
            const std::function<void(InputFile&&)>& consume);

/// read_input_files() on a budget that several inputs share.
void read_input_files(const std::string& path, UnpackBudget& budget,
                      const std::function<void(InputFile&&)>& consume);

}  // namespace understudy::et_schema
