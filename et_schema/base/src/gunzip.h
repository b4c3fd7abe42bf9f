#pragma once

#include <archive.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "et_schema/base/unpack.h"

namespace understudy::et_schema {

/// Unpacks a gzipped source for libarchive. libarchive's own filter checks neither the checksum nor
/// the length at the end of a gzip, so a flipped bit would go unnoticed.
class Gunzip {
 public:
  explicit Gunzip(const PackedSource& source);
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  [[nodiscard]] bool is_gzip() const { return is_gzip_; }
  /// Returns the number of packed bytes that were consumed so far.
  [[nodiscard]] std::uint64_t packed_bytes() const { return packed_bytes_ - stream_.avail_in; }

  /// libarchive's archive_read_callback; `self` is a Gunzip.
  static la_ssize_t read(archive* handle, void* self, const void** block);

 private:
  la_ssize_t next(archive* handle, const void** block);
  void fill();

  std::ifstream file_;
  std::string_view memory_;  ///< the unread rest of a source in memory
  std::string packed_;
  std::string unpacked_;
  z_stream stream_ = {};
  std::uint64_t packed_bytes_ = 0;
  bool is_gzip_ = false;
  bool is_over_ = false;
};

}  // namespace understudy::et_schema
