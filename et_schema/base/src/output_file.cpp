#include "et_schema/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>

#include "descriptor.h"
#include "et_schema/base/cannot_write.h"

namespace understudy::et_schema {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const std::string& path, std::string got, std::string hint) {
  throw cannot_write("the file cannot be written",
                     {.file = path,
                      .expected = "a place that can be written, with enough room",
                      .got = std::move(got),
                      .hint = std::move(hint)});
}

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  fail_to_write(path, std::generic_category().message(error),
                "choose another place for the output");
}

// Returns 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  return 0;
}

/// Flushes a file or folder to the disk. Returns 0, or the errno if the disk failed. Ignores file
/// systems that do not support it, and folders without permission to read, which cannot be flushed.
int sync(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EBADF) {
    return 0;
  }
  return errno;
}

/// Returns the descriptor of an open file if `path` is a name such as /dev/stdout or /dev/fd/3.
/// Such names are links, and the linked file must not be replaced.
std::optional<int> open_already(const std::string& path) {
  if (path == "/dev/stdout") {
    return STDOUT_FILENO;
  }
  if (path == "/dev/stderr") {
    return STDERR_FILENO;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = 0;
    const char* const end = path.data() + path.size();
    if (path.starts_with(folder) &&
        std::from_chars(path.data() + folder.size(), end, number).ptr == end) {
      return number;
    }
  }
  return std::nullopt;
}

/// Writes to a device or a pipe, which need not be replaced atomically.
void write_in_place(const std::string& path, const std::string& content) {
  if (const std::optional<int> descriptor = open_already(path)) {
    if (const int error = write_all(*descriptor, content); error != 0) {
      fail_to_write(path, error);
    }
    return;
  }
  const Descriptor target(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!target.is_open() || ::fstat(target.get(), &status) != 0) {
    fail_to_write(path, errno);
  }
  // A file may have appeared by now.
  const int error = S_ISREG(status.st_mode) ? EEXIST : write_all(target.get(), content);
  if (error != 0) {
    fail_to_write(path, error);
  }
}

/// `links`: 0, or O_NOFOLLOW.
Descriptor open_folder(int within, const fs::path& folder, int links) {
  const int flags = links | O_DIRECTORY | O_CLOEXEC;
  Descriptor descriptor(::openat(within, folder.c_str(), O_RDONLY | flags));
  if (!descriptor.is_open() && errno == EACCES) {
    // The folder may be writable but not readable.
    descriptor = Descriptor(::openat(within, folder.c_str(), O_PATH | flags));
  }
  return descriptor;
}

/// A new file with a name that no file had.
struct Temporary {
  std::string name;
  Descriptor file;
};

Temporary make_temporary(const Descriptor& folder, const std::string& beside) {
  constexpr mode_t kMode = 0666;            // less the user's umask
  constexpr std::size_t kMostOfName = 200;  // longer names leave no room for the suffix
  constexpr int kMostTries = 100;
  std::random_device random;
  Temporary made;
  for (int tries = 0; tries < kMostTries && !made.file.is_open(); ++tries) {
    const std::uint64_t number = (std::uint64_t{random()} << 32U) | random();
    // The name is hidden, so that readers of the folder ignore the remains of a killed program.
    made.name = "." + beside.substr(0, kMostOfName) + ".part-" + std::to_string(number);
    made.file = Descriptor(::openat(folder.get(), made.name.c_str(),
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (!made.file.is_open() && errno != EEXIST) {
      break;
    }
  }
  return made;
}

/// Returns 0, or the errno of the failure. The content is flushed before the rename, and the rename
/// before this returns. So a file with the name is complete even after a crash.
int write_new(const Descriptor& folder, const std::string& name, const std::string& content) {
  Temporary temporary;
  if (folder.is_open()) {
    temporary = make_temporary(folder, name);
  }
  if (!temporary.file.is_open()) {
    return errno;
  }
  int error = write_all(temporary.file.get(), content);
  if (error == 0) {
    error = sync(temporary.file.get());
  }
  if (error == 0 && temporary.file.close() != 0) {
    error = errno;
  }
  if (error == 0 &&
      ::renameat(folder.get(), temporary.name.c_str(), folder.get(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlinkat(folder.get(), temporary.name.c_str(), 0);
    return error;
  }
  return sync(folder.get());
}

}  // namespace

OutputPlace output_place(const std::string& path) {
  struct stat status {};
  if (open_already(path)) {
    return OutputPlace::kInPlace;
  }
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) {
    return OutputPlace::kFolder;
  }
  if (is_there && !S_ISREG(status.st_mode)) {
    return OutputPlace::kInPlace;
  }
  const bool is_link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  return is_link ? OutputPlace::kLink : OutputPlace::kNewFile;
}

void write_below(const std::string& folder, const std::string& name, const std::string& content) {
  fs::path place = (fs::path(folder) / "").parent_path();
  std::error_code error;
  fs::create_directories(place, error);
  Descriptor within = open_folder(AT_FDCWD, place, O_NOFOLLOW);
  const fs::path file(name);
  const fs::path parents = file.parent_path();
  for (auto part = parents.begin(); within.is_open() && part != parents.end(); ++part) {
    static_cast<void>(::mkdirat(within.get(), part->c_str(), ACCESSPERMS));
    place /= *part;
    within = open_folder(within.get(), *part, O_NOFOLLOW);
  }
  int failed = within.is_open() ? 0 : errno;
  if (failed == 0) {
    place /= file.filename();
    struct stat status {};
    const bool is_there =
        ::fstatat(within.get(), file.filename().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    failed =
        is_there && !S_ISREG(status.st_mode) ? EEXIST : write_new(within, file.filename(), content);
  }
  if (failed != 0 && fs::is_symlink(place, error)) {
    fail_to_write(place, "a symbolic link", "name the folder that it leads to, or remove the link");
  }
  if (failed != 0) {
    fail_to_write(place, failed);
  }
}

void write_file_atomically(const std::string& path, const std::string& content) {
  switch (output_place(path)) {
    case OutputPlace::kFolder:
      fail_to_write(path, EISDIR);
    case OutputPlace::kLink:
      fail_to_write(path, "a symbolic link", "name the file that it leads to, or remove the link");
    case OutputPlace::kInPlace:
      write_in_place(path, content);
      return;
    case OutputPlace::kNewFile:
      break;
  }
  const fs::path file(path);
  const Descriptor folder =
      open_folder(AT_FDCWD, file.has_parent_path() ? file.parent_path() : ".", 0);
  if (const int error = write_new(folder, file.filename(), content); error != 0) {
    fail_to_write(path, error);
  }
}

}  // namespace understudy::et_schema
