#include "fleet/process/node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/processor.h"

namespace understudy::fleet {
namespace {

/// Keeps letters and digits in lower case; replaces everything between them by one dash.
std::string slug_of(std::string_view text) {
  std::string slug;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) {
      slug += static_cast<char>(std::tolower(byte));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  return slug.substr(0, slug.find_last_not_of('-') + 1);
}

[[noreturn]] void fail(const std::string& path, const std::string& got) {
  throw et_schema::run_failed("the node cannot be locked for a replay",
                              {.file = path,
                               .expected = "a file that can be read, or a place for one",
                               .got = got,
                               .hint = "name another file: UNDERSTUDY_NODE_LOCK=FILE"});
}

[[noreturn]] void fail(const std::string& path) {
  fail(path, std::generic_category().message(errno));
}

/// Opens a lock file for all users of the machine, in a folder where any user may have created
/// something else under that name: does not follow links, does not wait for pipes, writes nothing.
/// Started programs inherit the descriptor, so O_CLOEXEC is not set.
int open_lock(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  constexpr mode_t kReadable = 0444;
  int descriptor = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, kReadable);
  if (descriptor >= 0) {
    ::fchmod(descriptor, kReadable);  // regardless of the umask
  } else if (errno == EEXIST) {
    descriptor = ::open(path.c_str(), kFlags);
  }
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    fail(path);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    fail(path, "something else than a file");
  }
  return descriptor;
}

/// flock() locks the open file, not the process, and needs no write permission.
void lock_file(int descriptor, int operation, const std::string& path) {
  while (::flock(descriptor, operation) != 0) {
    if (errno != EINTR) {
      fail(path);
    }
  }
}

}  // namespace

std::string default_platform() {
  const std::string model = et_schema::processor_model();
  return fmt::format("{}-{}c", slug_of(model.empty() ? "processor" : model),
                     et_schema::usable_cores());
}

std::string NodeLock::default_path() {
  const char* wish = std::getenv("UNDERSTUDY_NODE_LOCK");
  return wish != nullptr && *wish != '\0' ? wish : "/tmp/understudy-node.lock";
}

NodeLock::NodeLock(const std::string& path) : descriptor_(open_lock(path)) {
  // Without this queue, new shared locks could keep this waiting for ever.
  const std::string queue = path + ".queue";
  const int turn = open_lock(queue);
  ::fcntl(turn, F_SETFD, FD_CLOEXEC);
  lock_file(turn, LOCK_EX, queue);
  lock_file(descriptor_, LOCK_EX, path);
  // A child forked meanwhile shares the descriptor, so closing it here would not unlock the file.
  ::flock(turn, LOCK_UN);
  ::close(turn);
}

NodeLock::~NodeLock() {
  ::close(descriptor_);  // the last holder of the open file releases its lock
}

}  // namespace understudy::fleet
