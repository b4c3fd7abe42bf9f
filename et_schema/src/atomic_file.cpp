#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "et_schema/error.h"
#include "et_schema/report.h"
#include "read_file.h"

namespace understudy::et_schema {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

std::string reason(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void fail_write(const std::string& path, int error) {
  ErrorContext context;
  context.file = path;
  context.expected = "a place that can be written, with enough room";
  context.got = reason(error);
  context.hint = "choose another place for the output";
  throw run_failed("the file cannot be written", std::move(context));
}

[[noreturn]] void fail_read(const std::string& path, std::string expected, std::string got) {
  ErrorContext context;
  context.file = path;
  context.expected = std::move(expected);
  context.got = std::move(got);
  throw bad_input("the file cannot be read", std::move(context));
}

// 0, or the errno of the write that failed.
int write_all(int descriptor, const std::string& content) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t written = ::write(descriptor, content.data() + done, content.size() - done);
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
  return 0;
}

int write_temporary(const std::string& path, const std::string& content) {
  constexpr mode_t kMode = 0666;  // less the user's umask
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (file.get() < 0) {
    return errno;
  }
  if (const int error = write_all(file.get(), content); error != 0) {
    return error;
  }
  return file.close() == 0 ? 0 : errno;
}

}  // namespace

void write_file_atomically(const std::string& path, const std::string& content) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) {
      fail_write(path, EISDIR);
    }
    // A device or a pipe cannot be replaced by a rename, and holds nothing to keep whole.
    Descriptor target(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const int error = target.get() < 0 ? errno : write_all(target.get(), content);
    if (error != 0) {
      fail_write(path, error);
    }
    return;
  }
  const std::string temporary = path + ".part-" + std::to_string(::getpid());
  int error = write_temporary(temporary, content);
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail_write(path, error);
  }
}

std::string read_file(const std::string& path, std::uint64_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    fail_read(path, "a file that can be read", reason(errno));
  }
  std::string content;
  std::array<char, std::size_t{1} << 16U> block{};
  while (true) {
    const ssize_t size = ::read(file.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0) {
      fail_read(path, "a file that can be read", reason(errno));
    }
    if (size == 0) {
      return content;
    }
    content.append(block.data(), static_cast<std::size_t>(size));
    if (content.size() > max_bytes) {
      fail_read(path, "at most " + std::to_string(max_bytes) + " bytes", "more");
    }
  }
}

}  // namespace understudy::et_schema
