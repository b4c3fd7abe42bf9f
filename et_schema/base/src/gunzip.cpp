#include "gunzip.h"

#include <cerrno>
#include <new>

namespace understudy::et_schema {
namespace {

constexpr std::size_t kGunzipBlock = std::size_t{256} << 10U;

Bytef* bytes_of(std::string& text) {
  return reinterpret_cast<Bytef*>(text.data());  // NOLINT(*-reinterpret-cast): zlib's bytes
}

}  // namespace

Gunzip::Gunzip(const PackedSource& source) : memory_(source.memory) {
  if (!source.path.empty()) {
    file_.open(source.path, std::ios::binary);
  }
  fill();
  is_gzip_ = find_packing(packed_) == Packing::kGzip;
  constexpr int kOnlyGzip = MAX_WBITS | 16;
  if (is_gzip_ && inflateInit2(&stream_, kOnlyGzip) != Z_OK) {
    throw std::bad_alloc();
  }
}

void Gunzip::fill() {
  packed_.resize(kGunzipBlock);
  if (file_.is_open()) {
    file_.read(packed_.data(), static_cast<std::streamsize>(kGunzipBlock));
    packed_.resize(static_cast<std::size_t>(file_.gcount()));
  } else {
    packed_ = memory_.substr(0, kGunzipBlock);
    memory_.remove_prefix(packed_.size());
  }
  packed_bytes_ += packed_.size();
  stream_.next_in = bytes_of(packed_);
  stream_.avail_in = static_cast<uInt>(packed_.size());
}

la_ssize_t Gunzip::next(archive* handle, const void** block) {
  const auto fail = [handle](const char* why) {
    archive_set_error(handle, EILSEQ, "%s", why);
    return la_ssize_t{ARCHIVE_FATAL};
  };
  unpacked_.resize(kGunzipBlock);
  stream_.next_out = bytes_of(unpacked_);
  stream_.avail_out = static_cast<uInt>(kGunzipBlock);
  while (stream_.avail_out > 0 && !is_over_) {
    if (stream_.avail_in == 0) {
      fill();
      if (packed_.empty()) {
        return fail("truncated gzip input");
      }
    }
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      // Another gzip member may follow; its content is appended.
      if (stream_.avail_in == 0) {
        fill();
      }
      constexpr Bytef kMagic = 0x1f;
      is_over_ = stream_.avail_in == 0 || *stream_.next_in != kMagic;
      inflateReset(&stream_);
    } else if (status != Z_OK) {
      return fail(stream_.msg != nullptr ? stream_.msg : "no gzip");
    }
  }
  *block = unpacked_.data();
  return static_cast<la_ssize_t>(kGunzipBlock - stream_.avail_out);
}

la_ssize_t Gunzip::read(archive* handle, void* self, const void** block) {
  return static_cast<Gunzip*>(self)->next(handle, block);
}

}  // namespace understudy::et_schema
