#include "archive_reader.h"

#include <algorithm>
#include <new>

#include "et_schema/base/quote.h"
#include "et_schema/base/read_file.h"

namespace understudy::et_schema {
namespace {

/// Throws Error (bad input) if a member has no name, or one that leads out of the archive's folder.
void check_member_name(const std::string& archive_name, std::string_view member) {
  bool leads_out =
      member.empty() || member.starts_with('/') || member.find('\\') != std::string_view::npos;
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

}  // namespace

ArchiveReader::ArchiveReader(const PackedSource& source, Kind kind)
    : archive_name_(source.name),
      zip_bytes_(kind == Kind::kZip ? source.memory.size() : 0),
      gunzip_(source),
      handle_(archive_read_new()) {
  if (!handle_) {
    throw std::bad_alloc();
  }
  if (kind == Kind::kZip) {
    archive_read_support_format_zip_seekable(handle_.get());
  } else {
    archive_read_support_format_tar(handle_.get());
    archive_read_support_format_zip(handle_.get());
    archive_read_support_format_raw(handle_.get());
  }
  if (status_of_opening(source) != ARCHIVE_OK) {
    throw damaged(archive_name_);
  }
}

int ArchiveReader::status_of_opening(const PackedSource& source) {
  constexpr std::size_t kReadBlock = std::size_t{256} << 10U;
  if (gunzip_.is_gzip()) {
    return archive_read_open(handle_.get(), &gunzip_, nullptr, Gunzip::read, nullptr);
  }
  return source.path.empty()
             ? archive_read_open_memory(handle_.get(), source.memory.data(), source.memory.size())
             : archive_read_open_filename(handle_.get(), source.path.c_str(), kReadBlock);
}

Error ArchiveReader::damaged(const std::string& name) const {
  const char* text = archive_error_string(handle_.get());
  return bad_input("a compressed file is damaged",
                   {.file = name,
                    .expected = "a whole gzip, tar or zip file",
                    .got = text == nullptr ? "an unknown error" : quote(text),
                    .hint = "copy or download it again"});
}

std::uint64_t ArchiveReader::packed_bytes() const {
  if (zip_bytes_ > 0 || gunzip_.is_gzip()) {
    return zip_bytes_ > 0 ? zip_bytes_ : gunzip_.packed_bytes();
  }
  return static_cast<std::uint64_t>(
      std::max<la_int64_t>(archive_filter_bytes(handle_.get(), -1), 1));
}

bool ArchiveReader::next() {
  archive_entry* entry = nullptr;
  while (true) {
    const int status = archive_read_next_header(handle_.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return false;
    }
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      throw damaged(archive_name_);
    }
    is_raw_ = archive_format(handle_.get()) == ARCHIVE_FORMAT_RAW;
    if (is_raw_) {
      return true;
    }
    const char* member = archive_entry_pathname(entry);
    member_ = member == nullptr ? "" : member;
    check_member_name(archive_name_, member_);
    if (archive_entry_filetype(entry) == AE_IFREG) {
      return true;
    }
  }
}

std::string ArchiveReader::name() const {
  return is_raw_ ? archive_name_ : archive_name_ + "/" + member_;
}

bool ArchiveReader::read(UnpackBudget& budget, const std::function<bool(std::string_view)>& wanted,
                         std::string& data) {
  std::string block(kSniffBytes, '\0');
  for (bool is_first = true;; is_first = false) {
    const la_ssize_t count = archive_read_data(handle_.get(), block.data(), block.size());
    if (count < 0) {
      throw damaged(name());
    }
    const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
    if (is_first && !wanted(bytes)) {
      return false;
    }
    if (count == 0) {
      return true;
    }
    bytes_ += bytes.size();
    budget.add(name(), bytes.size(), data.size() + bytes.size(), {packed_bytes(), bytes_});
    data += bytes;
  }
}

}  // namespace understudy::et_schema
