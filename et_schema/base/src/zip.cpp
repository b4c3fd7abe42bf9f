#include "et_schema/base/zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/random.h>

#include <algorithm>
#include <memory>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_limit.h"
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

struct FreeRead {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
struct FreeWrite {
  void operator()(archive* handle) const { archive_write_free(handle); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

// Programs are repetitive: higher levels take several times as long and save only 10 %.
constexpr const char* kDeflateLevel = "3";
constexpr unsigned kFileMode = 0644;
constexpr std::uint64_t kRatioFreeBytes = std::uint64_t{64} << 20U;
constexpr std::size_t kBlockBytes = std::size_t{1} << 18U;

la_ssize_t append_block(archive* /*handle*/, void* client, const void* data, std::size_t size) {
  static_cast<std::string*>(client)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

// Writing to memory fails only if memory runs out, which throws std::bad_alloc.
void expect_ok(int status) {
  UNDERSTUDY_ASSERT(status == ARCHIVE_OK);
}

[[noreturn]] void fail(const std::string& file, std::string summary, std::string expected,
                       std::string got, std::string hint) {
  throw bad_input(std::move(summary), {.file = file,
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

[[noreturn]] void fail_damaged(const std::string& file, std::string got) {
  fail(file, "the benchmark's zip is damaged", "a whole zip file", std::move(got),
       "copy the file again, or make the benchmark again with `generate`");
}

bool is_unsafe(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos) {
    return true;
  }
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    if (name.substr(start, end - start) == "..") {
      return true;
    }
    start = end + 1;
  }
  return false;
}

class Unpacker {
 public:
  Unpacker(std::string_view bytes, const std::string& file, const ReadLimits& limits)
      : bytes_(bytes), file_(file), limits_(limits), handle_(archive_read_new()) {
    UNDERSTUDY_ASSERT(handle_ != nullptr);
    expect_ok(archive_read_support_format_zip_seekable(handle_.get()));
  }

  std::map<std::string, std::string> unpack() {
    if (archive_read_open_memory(handle_.get(), bytes_.data(), bytes_.size()) != ARCHIVE_OK) {
      fail_damaged(file_, reason());
    }
    archive_entry* entry = nullptr;
    while (true) {
      const int status = archive_read_next_header(handle_.get(), &entry);
      if (status == ARCHIVE_EOF) {
        return std::move(members_);
      }
      if (status != ARCHIVE_OK) {
        fail_damaged(file_, reason());
      }
      read_member(entry);
    }
  }

 private:
  void read_member(archive_entry* entry) {
    const char* raw_name = archive_entry_pathname(entry);
    const std::string name = raw_name == nullptr ? "" : raw_name;
    if (is_unsafe(name)) {
      fail(file_, "the benchmark holds a member with an unsafe name",
           "a relative name without \"..\"", "\"" + quote(name) + "\"",
           "do not use this file: `generate` does not write such names");
    }
    if (archive_entry_filetype(entry) == AE_IFDIR) {
      return;
    }
    const auto [place, is_new] = members_.try_emplace(name);
    if (!is_new) {
      fail(file_, "the benchmark holds two members of one name", "each name once",
           "\"" + quote(name) + "\" twice", "make the benchmark again with `generate`");
    }
    read_content(name, place->second);
  }

  void read_content(const std::string& name, std::string& content) {
    std::vector<char> block(kBlockBytes);
    while (true) {
      const la_ssize_t size = archive_read_data(handle_.get(), block.data(), block.size());
      if (size < 0) {
        fail_damaged(file_, "member \"" + quote(name) + "\": " + reason());
      }
      if (size == 0) {
        return;
      }
      content.append(block.data(), static_cast<std::size_t>(size));
      total_ += static_cast<std::uint64_t>(size);
      check_limits(name, content.size());
    }
  }

  void check_limits(const std::string& name, std::uint64_t member_bytes) const {
    if (member_bytes > limits_.max_file_bytes) {
      fail_bomb("at most " + std::to_string(limits_.max_file_bytes) + " bytes in one member",
                "more in \"" + quote(name) + "\"");
    }
    if (total_ > limits_.max_total_bytes) {
      fail_bomb("at most " + std::to_string(limits_.max_total_bytes) + " bytes in all", "more");
    }
    if (total_ > kRatioFreeBytes && total_ / limits_.max_ratio > bytes_.size()) {
      fail_bomb("at most " + std::to_string(limits_.max_ratio) + " times the packed " +
                    std::to_string(bytes_.size()) + " bytes",
                "more");
    }
    check_held(file_, bytes_.size() + total_, limits_);
  }

  [[noreturn]] void fail_bomb(std::string expected, std::string got) const {
    fail(file_, "the benchmark unpacks to more than is allowed", std::move(expected),
         std::move(got), "do not use this file unless you trust where it is from");
  }

  [[nodiscard]] std::string reason() const {
    const char* text = archive_error_string(handle_.get());
    return text == nullptr ? "no zip" : text;
  }

  std::string_view bytes_;
  const std::string& file_;
  const ReadLimits& limits_;
  std::unique_ptr<archive, FreeRead> handle_;
  std::map<std::string, std::string> members_;
  std::uint64_t total_ = 0;
};

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
  return Unpacker(bytes, file, limits).unpack();
}

}  // namespace understudy::et_schema
