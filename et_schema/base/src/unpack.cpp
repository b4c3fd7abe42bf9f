#include "et_schema/base/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/input_limit.h"
#include "et_schema/base/quote.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/trace_start.h"
#include "gunzip.h"

namespace understudy::et_schema {
namespace {

constexpr std::uint64_t kRatioFrom = std::uint64_t{64} << 20U;
constexpr std::string_view kGzipMagic = "\x1f\x8b";

struct ArchiveCloser {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchiveHandle = std::unique_ptr<archive, ArchiveCloser>;

Error damaged(const std::string& name, std::string got) {
  return bad_input("a compressed file is damaged", {.file = name,
                                                    .expected = "a whole gzip, tar or zip file",
                                                    .got = std::move(got),
                                                    .hint = "copy or download it again"});
}

std::string reason(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "an unknown error" : quote(text);
}

/// Reads an archive, or a gzipped file that is not an archive.
class Reader {
 public:
  explicit Reader(const PackedSource& source) : gunzip_(source), handle_(archive_read_new()) {
    if (!handle_) {
      throw std::bad_alloc();
    }
    archive_read_support_format_tar(get());
    archive_read_support_format_zip(get());
    archive_read_support_format_raw(get());
    if (open(source) != ARCHIVE_OK) {
      throw damaged(source.name, reason(get()));
    }
  }

  [[nodiscard]] archive* get() const { return handle_.get(); }

  /// Returns the number of packed bytes that were read so far; at least 1.
  [[nodiscard]] std::uint64_t packed_bytes() const {
    const auto plain =
        static_cast<std::uint64_t>(std::max<la_int64_t>(archive_filter_bytes(get(), -1), 1));
    return gunzip_.is_gzip() ? gunzip_.packed_bytes() : plain;
  }

 private:
  int open(const PackedSource& source) {
    constexpr std::size_t kReadBlock = std::size_t{256} << 10U;
    if (gunzip_.is_gzip()) {
      return archive_read_open(get(), &gunzip_, nullptr, Gunzip::read, nullptr);
    }
    return source.path.empty()
               ? archive_read_open_memory(get(), source.memory.data(), source.memory.size())
               : archive_read_open_filename(get(), source.path.c_str(), kReadBlock);
  }

  Gunzip gunzip_;
  ArchiveHandle handle_;
};

/// Throws Error (bad input) if a member's name leads out of the archive's folder.
void check_member_name(const std::string& archive_name, std::string_view member) {
  bool leads_out = member.starts_with('/');
  std::string_view rest = member;
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    leads_out = leads_out || rest.substr(0, slash) == "..";
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  if (leads_out) {
    throw bad_input("an archive member with an unsafe name",
                    {.file = archive_name,
                     .field = "member name",
                     .expected = "a relative name without \"..\"",
                     .got = quote(member),
                     .hint = "do not use this archive unless you know where it comes from"});
  }
  check_file_name(archive_name + "/" + std::string(member));
}

/// Reads the current member into `data`. Returns false and skips the rest if `wanted` returns false
/// for the first bytes.
bool read_member(const Reader& reader, const std::string& name, UnpackBudget& budget,
                 Unpacking& unpacking, const std::function<bool(std::string_view)>& wanted,
                 std::string& data) {
  bool decided = false;
  std::string block(kSniffBytes, '\0');
  while (true) {
    const la_ssize_t count = archive_read_data(reader.get(), block.data(), block.size());
    if (count < 0) {
      throw damaged(name, reason(reader.get()));
    }
    const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
    if (!decided) {
      decided = true;
      if (!wanted(bytes)) {
        return false;
      }
    }
    if (count == 0) {
      return true;
    }
    unpacking.packed_bytes = reader.packed_bytes();
    unpacking.bytes += bytes.size();
    budget.add(name, bytes.size(), data.size() + bytes.size(), unpacking);
    data += bytes;
  }
}

/// Returns true for a member that must be read. Throws Error (bad input) if it is nested too deep.
bool is_trace(const std::string& name, std::string_view start) {
  if (is_other_file(start, name)) {
    return false;
  }
  refuse_other_file(name, start);
  return starts_as_trace(start);
}

/// Passes a member to `consume`, and unpacks it first if it is gzipped itself.
void hand_over(std::string name, std::string data, UnpackBudget& budget,
               const std::function<void(InputFile&&)>& consume) {
  if (find_packing(data) != Packing::kGzip) {
    consume({.name = std::move(name), .data = std::move(data)});
    return;
  }
  const Reader reader({.name = name, .path = {}, .memory = data});
  archive_entry* entry = nullptr;
  if (archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) {
    throw damaged(name, reason(reader.get()));
  }
  std::string unpacked;
  Unpacking unpacking;
  const auto wanted = [&name](std::string_view start) { return is_trace(name, start); };
  if (read_member(reader, name, budget, unpacking, wanted, unpacked)) {
    consume({.name = std::move(name), .data = std::move(unpacked)});
  }
}

}  // namespace

Packing find_packing(std::string_view start) {
  constexpr std::string_view kZipMagic = "PK\x03\x04";
  constexpr std::string_view kEmptyZipMagic = "PK\x05\x06";
  constexpr std::string_view kTarMagic = "ustar";
  constexpr std::size_t kTarMagicAt = 257;
  if (start.starts_with(kGzipMagic)) {
    return Packing::kGzip;
  }
  const bool is_tar =
      start.size() > kTarMagicAt && start.substr(kTarMagicAt).starts_with(kTarMagic);
  if (is_tar || start.starts_with(kZipMagic) || start.starts_with(kEmptyZipMagic)) {
    return Packing::kArchive;
  }
  return Packing::kPlain;
}

void UnpackBudget::add(const std::string& name, std::uint64_t bytes, std::uint64_t file_bytes,
                       const Unpacking& unpacking) {
  total_ += bytes;
  const auto refuse = [&name](std::string expected, std::string got) {
    throw bad_input("an input that unpacks to too much",
                    {.file = name,
                     .expected = std::move(expected),
                     .got = std::move(got),
                     .hint = "unpack it yourself if you trust it, and give the plain files"});
  };
  if (file_bytes > limits_.max_file_bytes) {
    refuse(fmt::format("at most {} bytes a file", limits_.max_file_bytes), "more");
  }
  if (total_ > limits_.max_total_bytes) {
    refuse(fmt::format("at most {} bytes in all", limits_.max_total_bytes), "more");
  }
  if (unpacking.bytes > kRatioFrom &&
      unpacking.bytes / unpacking.packed_bytes > limits_.max_ratio) {
    refuse(fmt::format("at most {} times its packed size", limits_.max_ratio),
           fmt::format("{} bytes out of {}", unpacking.bytes, unpacking.packed_bytes));
  }
  check_held(name, kept_ + file_bytes, limits_);
}

void unpack(const PackedSource& source, UnpackBudget& budget,
            const std::function<void(InputFile&&)>& consume) {
  const Reader reader(source);
  Unpacking unpacking;
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return;
    }
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      throw damaged(source.name, reason(reader.get()));
    }
    const bool is_raw = archive_format(reader.get()) == ARCHIVE_FORMAT_RAW;
    std::string name = source.name;
    if (!is_raw) {
      const char* member = archive_entry_pathname(entry);
      if (member == nullptr) {
        throw damaged(source.name, "a member without a name");
      }
      check_member_name(source.name, member);
      if (archive_entry_filetype(entry) != AE_IFREG) {
        continue;
      }
      name += '/';
      name += member;
    }
    // A gzipped file that is not an archive always passes: its reader reports errors.
    const auto wanted = [&](std::string_view start) {
      if (is_raw) {
        refuse_other_file(name, start);
      }
      return is_raw || start.starts_with(kGzipMagic) || is_trace(name, start);
    };
    std::string data;
    if (!read_member(reader, name, budget, unpacking, wanted, data)) {
      continue;
    }
    if (is_raw) {
      consume({.name = std::move(name), .data = std::move(data)});
      return;
    }
    hand_over(std::move(name), std::move(data), budget, consume);
  }
}

}  // namespace understudy::et_schema
