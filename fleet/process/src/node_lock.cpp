#include "fleet/process/node_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "et_schema/support/error.h"

namespace understudy::fleet {
namespace {

constexpr mode_t kForEverybody = 0666;
// Bytes of the file that stand for something.
constexpr off_t kTurn = 0;  // taken to queue: shared locks alone would let a timer wait for ever
constexpr off_t kNode = 1;

[[noreturn]] void fail(const std::string& path) {
  throw et_schema::run_failed("the node cannot be locked for a replay",
                              {.file = path,
                               .got = std::generic_category().message(errno),
                               .hint = "name another file: UNDERSTUDY_NODE_LOCK=FILE"});
}

int open_lock(const std::string& path) {
  // Kept by programs that are started: no O_CLOEXEC. A file of another user's in a sticky folder
  // opens only without O_CREAT.
  int descriptor = ::open(path.c_str(), O_RDWR);
  if (descriptor < 0 && errno == ENOENT) {
    const mode_t mask = ::umask(0);
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT, kForEverybody);
    ::umask(mask);
  }
  if (descriptor < 0) {
    fail(path);
  }
  return descriptor;
}

/// A lock of the open file, not of the process.
void lock_byte(int descriptor, off_t byte, short kind, const std::string& path) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  while (::fcntl(descriptor, F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) {
      fail(path);
    }
  }
}

}  // namespace

std::string NodeLock::default_path() {
  const char* wish = std::getenv("UNDERSTUDY_NODE_LOCK");
  return wish != nullptr && *wish != '\0' ? wish : "/tmp/understudy-node.lock";
}

NodeLock::NodeLock(NodeUse use, const std::string& path) : descriptor_(open_lock(path)) {
  lock_byte(descriptor_, kTurn, F_WRLCK, path);
  lock_byte(descriptor_, kNode, use == NodeUse::kTiming ? F_WRLCK : F_RDLCK, path);
  lock_byte(descriptor_, kTurn, F_UNLCK, path);
}

void NodeLock::release() {
  struct flock lock {};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  ::fcntl(descriptor_, F_OFD_SETLK, &lock);
}

NodeLock::~NodeLock() {
  ::close(descriptor_);  // and with the last holder of the open file its locks
}

}  // namespace understudy::fleet
