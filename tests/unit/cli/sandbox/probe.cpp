// Operators that do what a stranger's code would like to, for tests of the sandbox: they throw if
// it was not refused. `replay --op-library` loads them.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <torch/library.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace {

/// A file that exists and that the user may write.
std::string target() {
  const char* const named = std::getenv("PROBE_TARGET");
  TORCH_CHECK(named != nullptr, "PROBE_TARGET is not set");
  return named;
}

std::string target_of_handler;
std::atomic<int> asked = 0;
std::atomic<int> opened = 0;

extern "C" void open_target(int /*signal*/) {
  const int before = errno;
  const int file = open(target_of_handler.c_str(), O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    close(file);
    ++opened;
  }
  ++asked;
  errno = before;
}

/// Starts the threads that operators may run on, and has every thread of the process open a file
/// for writing: these, and those that MPI and others started.
at::Tensor threads(const at::Tensor& self) {
  target_of_handler = target();
  asked = 0;
  opened = 0;
  std::atomic<int> started = 0;
  at::parallel_for(0, 64, 1, [&](std::int64_t, std::int64_t) { ++started; });
  at::launch([&] { ++started; });
  TORCH_CHECK(started > 0);
  struct sigaction action {};
  action.sa_handler = open_target;
  sigaction(SIGUSR2, &action, nullptr);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int before = asked;
    syscall(SYS_tgkill, getpid(), std::stoi(entry.path().filename()), SIGUSR2);
    for (int wait = 0; wait < 1000 && asked == before; ++wait) {
      usleep(1000);
    }
    ++count;
  }
  TORCH_CHECK(count > 2, "there are ", count, " threads alone");
  TORCH_CHECK(asked == count, asked.load(), " of ", count, " threads have answered");
  TORCH_CHECK(opened == 0, opened.load(), " of ", count, " threads could open a file for writing");
  return self.clone();
}

struct Attempt {
  const char* name;
  std::function<long()> run;  ///< negative, with errno set, if it fails
};

at::Tensor calls(const at::Tensor& self) {
  const std::string file = target();
  const char* const path = file.c_str();
  const int readable = open(path, O_RDONLY | O_CLOEXEC);
  const pid_t parent = getppid();
  constexpr long kFileSetattr = 469;
  constexpr long kOfTheFuture = 500;
  constexpr unsigned long kType = 0x5412;
  constexpr unsigned long kPaste = 0x541c;
  constexpr unsigned long kHighBit = 1UL << 32U;  // the kernel looks at the low half
  char letter = 'x';
  int flags = 0;
  int ends[2] = {};
  std::vector<Attempt> attempts = {
      {"chmod", [&] { return chmod(path, 0600); }},
      {"fchmod", [&] { return fchmod(readable, 0600); }},
      {"chown", [&] { return chown(path, getuid(), getgid()); }},
      {"setxattr", [&] { return setxattr(path, "user.probe", "x", 1, 0); }},
      {"utimensat", [&] { return utimensat(AT_FDCWD, path, nullptr, 0); }},
      {"truncate", [&] { return truncate(path, 0); }},
      {"FS_IOC_SETFLAGS", [&] { return ioctl(readable, FS_IOC_SETFLAGS, &flags); }},
      {"open to empty it", [&] { return open(path, O_RDONLY | O_TRUNC); }},
      {"open with no right to empty it", [&] { return open(path, O_ACCMODE | O_TRUNC); }},
      {"file_setattr", [&] { return syscall(kFileSetattr, AT_FDCWD, path, &flags, 0, 0); }},
      {"a call of the future", [] { return syscall(kOfTheFuture); }},
      {"semctl", [] { return semctl(0, 0, IPC_RMID); }},
      {"fork",
       [] {
         const pid_t child = fork();
         if (child == 0) {
           _exit(0);
         }
         return long{child};
       }},
      {"open for writing", [&] { return open(path, O_WRONLY); }},
      {"rename", [&] { return rename(path, (file + ".moved").c_str()); }},
      {"unlink", [&] { return unlink(path); }},
      {"symlink", [&] { return symlink("x", (file + ".link").c_str()); }},
      {"mkdir", [&] { return mkdir((file + ".folder").c_str(), 0700); }},
      {"TIOCSTI", [&] { return ioctl(0, kType, &letter); }},
      {"TIOCSTI with a high bit", [&] { return syscall(SYS_ioctl, 0, kType | kHighBit, &letter); }},
      {"TIOCLINUX", [&] { return ioctl(0, kPaste, &letter); }},
      {"F_SETOWN", [&] { return fcntl(readable, F_SETOWN, parent); }},
      {"kill", [&] { return kill(parent, SIGCONT); }},
      {"kill of the group", [&] { return kill(0, SIGCONT); }},
      {"tgkill", [&] { return syscall(SYS_tgkill, parent, parent, SIGCONT); }},
      {"setpriority", [&] { return setpriority(PRIO_PROCESS, static_cast<id_t>(parent), 19); }},
      {"ioprio_set of the user", [] { return syscall(SYS_ioprio_set, 3, 0, (2 << 13) | 7); }},
      {"prlimit", [&] { return prlimit(parent, RLIMIT_CORE, nullptr, nullptr); }},
      {"unshare", [&] { return unshare(CLONE_NEWUTS); }},
      {"clone",
       [] {
         const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
         if (child == 0) {
           _exit(0);
         }
         return child;
       }},
      {"execve", [&] { return execl("/nowhere", "/nowhere", nullptr); }},
      {"socket", [&] { return socket(AF_UNIX, SOCK_STREAM, 0); }},
      {"socketpair", [&] { return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends); }},
      {"socket of packets", [&] { return socket(AF_PACKET, SOCK_RAW, 0); }},
  };
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) {  // ranks remove what they shared
    attempts.push_back({"shmctl", [] { return shmctl(0, IPC_RMID, nullptr); }});
  }
  std::string passed;
  for (const Attempt& attempt : attempts) {
    errno = 0;
    const bool is_refused =
        attempt.run() < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
    passed += is_refused ? "" : std::string(" ") + attempt.name;
  }
  close(readable);
  TORCH_CHECK(passed.empty(), "not refused:", passed);
  return self.clone();
}

at::Tensor nothing(const at::Tensor& self) {
  return self.clone();
}

}  // namespace

TORCH_LIBRARY(probe, library) {
  library.def("threads(Tensor self) -> Tensor", threads);
  library.def("calls(Tensor self) -> Tensor", calls);
  library.def("nothing(Tensor self) -> Tensor", nothing);
}
