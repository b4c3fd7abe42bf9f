#include "et_schema/base/zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <memory>

#include "archive_reader.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

// libarchive's zip writer refers to the writers of all formats, and links them. Nothing here calls
// xar's, which needs libxml2, and ICU with it (31 MB): this takes its place. The other function
// salts encrypted members, which nothing here writes either; the C library has it only since
// glibc 2.36.
extern "C" int archive_write_set_format_xar(archive* /*handle*/) {
  return ARCHIVE_FATAL;
}
extern "C" void arc4random_buf(void* buffer, std::size_t size) noexcept {
  static_cast<void>(getrandom(buffer, size, 0));
}

namespace understudy::et_schema {
namespace {

struct FreeWrite {
  void operator()(archive* handle) const { archive_write_free(handle); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

// Programs are repetitive: higher levels take several times as long and save only 10 %.
constexpr const char* kDeflateLevel = "3";
constexpr unsigned kFileMode = 0644;

la_ssize_t append_block(archive* /*handle*/, void* client, const void* data, std::size_t size) {
  static_cast<std::string*>(client)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

// Writing to memory fails only if memory runs out, which throws std::bad_alloc.
void expect_ok(int status) {
  UNDERSTUDY_ASSERT(status == ARCHIVE_OK);
}

void write_member(archive* handle, const std::string& name, std::string_view data) {
  // No time is set: a zip then holds its earliest date, the same in every time zone.
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  UNDERSTUDY_ASSERT(entry != nullptr);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(data.size()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), kFileMode);
  expect_ok(archive_write_header(handle, entry.get()));
  const la_ssize_t written = archive_write_data(handle, data.data(), data.size());
  UNDERSTUDY_ASSERT(written == static_cast<la_ssize_t>(data.size()));
}

/// Opens an archive that writes to `bytes`, without padding to a full block.
void open_into(std::string& bytes, archive* handle) {
  expect_ok(archive_write_set_bytes_in_last_block(handle, 1));
  expect_ok(archive_write_open(handle, &bytes, nullptr, append_block, nullptr));
}

}  // namespace

std::string gzip_bytes(std::string_view content) {
  std::string bytes;
  const std::unique_ptr<archive, FreeWrite> handle(archive_write_new());
  UNDERSTUDY_ASSERT(handle != nullptr);
  expect_ok(archive_write_set_format_raw(handle.get()));
  expect_ok(archive_write_add_filter_gzip(handle.get()));
  expect_ok(archive_write_set_filter_option(handle.get(), "gzip", "timestamp", nullptr));
  open_into(bytes, handle.get());
  write_member(handle.get(), "content", content);
  expect_ok(archive_write_close(handle.get()));
  return bytes;
}

std::string zip_bytes(const std::vector<ZipMember>& members) {
  std::string bytes;
  const std::unique_ptr<archive, FreeWrite> handle(archive_write_new());
  UNDERSTUDY_ASSERT(handle != nullptr);
  expect_ok(archive_write_set_format_zip(handle.get()));
  expect_ok(archive_write_set_format_option(handle.get(), "zip", "compression", "deflate"));
  expect_ok(
      archive_write_set_format_option(handle.get(), "zip", "compression-level", kDeflateLevel));
  open_into(bytes, handle.get());
  for (const ZipMember& member : members) {
    write_member(handle.get(), member.name, member.data);
  }
  expect_ok(archive_write_close(handle.get()));
  return bytes;
}

std::map<std::string, std::string> unzip(std::string_view bytes, const std::string& file,
                                         const ReadLimits& limits) {
  UnpackBudget budget(limits);
  ArchiveReader reader({.name = file, .path = {}, .memory = bytes}, ArchiveReader::Kind::kZip);
  const auto is_wanted = [](std::string_view /*start*/) { return true; };
  std::map<std::string, std::string> members;
  while (reader.next()) {
    const auto [place, is_new] = members.try_emplace(reader.member());
    if (!is_new) {
      throw bad_input("an archive with two members of one name",
                      {.file = file,
                       .expected = "each name once",
                       .got = fmt::format("\"{}\" twice", quote(reader.member())),
                       .hint = "make it again"});
    }
    static_cast<void>(reader.read(budget, is_wanted, place->second));
  }
  return members;
}

}  // namespace understudy::et_schema
