#include "et_schema/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "descriptor.h"
#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_limit.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void fail_to_read(const std::string& path, std::string expected, std::string got) {
  throw bad_input("the file cannot be read",
                  {.file = path, .expected = std::move(expected), .got = std::move(got)});
}

void check_size(const std::string& path, std::uint64_t bytes, const ReadLimits& limits) {
  if (bytes > limits.max_total_bytes) {
    fail_to_read(path, "at most " + std::to_string(limits.max_total_bytes) + " bytes", "more");
  }
  check_held(path, bytes, limits);
}

}  // namespace

void check_file_name(const std::string& path) {
  if (has_control_characters(path)) {
    throw bad_input("a file name with control characters",
                    {.file = path,
                     .expected = "a name that a terminal shows as it is",
                     .got = escape_control_characters(path),
                     .hint = "rename the file, or the folder that it is in"});
  }
}

std::string read_file(const std::string& path, const ReadLimits& limits) {
  check_file_name(path);
  constexpr const char* kReadable = "a file that can be read";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    fail_to_read(path, kReadable, std::generic_category().message(errno));
  }
  // The size of a pipe is 0 here, so the size is also checked while reading.
  check_size(path, static_cast<std::uint64_t>(status.st_size), limits);
  std::string content;
  std::array<char, std::size_t{1} << 16U> block{};
  while (true) {
    const ssize_t size = ::read(file.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0) {
      fail_to_read(path, kReadable, std::generic_category().message(errno));
    }
    if (size == 0) {
      return content;
    }
    content.append(block.data(), static_cast<std::size_t>(size));
    check_size(path, content.size(), limits);
  }
}

}  // namespace understudy::et_schema
