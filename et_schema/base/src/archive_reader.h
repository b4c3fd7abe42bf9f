#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "et_schema/base/error.h"
#include "et_schema/base/unpack.h"
#include "gunzip.h"

namespace understudy::et_schema {

/// Reads the files of an archive, or a gzipped file that is not an archive. All members throw Error
/// (bad input) if the bytes are damaged.
class ArchiveReader {
 public:
  /// kZip: nothing but a zip, whose directory must be whole.
  enum class Kind : std::uint8_t { kAny, kZip };

  explicit ArchiveReader(const PackedSource& source, Kind kind = Kind::kAny);

  /// Moves to the next file; returns false at the end. Throws Error (bad input) if its name leads
  /// out of the archive's folder.
  [[nodiscard]] bool next();
  /// Returns true for a file that is not in an archive.
  [[nodiscard]] bool is_raw() const { return is_raw_; }
  /// Returns the file's name in the archive; empty if it is in none.
  [[nodiscard]] const std::string& member() const { return member_; }
  /// Returns that name behind the archive's.
  [[nodiscard]] std::string name() const;
  /// Reads the file into `data`. Returns false and skips the rest if `wanted` returns false for the
  /// first bytes. Throws as UnpackBudget::add() does.
  [[nodiscard]] bool read(UnpackBudget& budget, const std::function<bool(std::string_view)>& wanted,
                          std::string& data);

 private:
  struct Closer {
    void operator()(archive* handle) const { archive_read_free(handle); }
  };

  [[nodiscard]] int status_of_opening(const PackedSource& source);
  [[nodiscard]] Error damaged(const std::string& name) const;
  [[nodiscard]] std::uint64_t packed_bytes() const;

  std::string archive_name_;
  std::size_t zip_bytes_;  ///< size of a zip, which is not read in order; otherwise 0
  Gunzip gunzip_;
  std::unique_ptr<archive, Closer> handle_;
  std::string member_;
  bool is_raw_ = false;
  std::uint64_t bytes_ = 0;  ///< unpacked so far
};

}  // namespace understudy::et_schema
