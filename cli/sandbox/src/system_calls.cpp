#include "system_calls.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/words.h"

namespace understudy::cli {
namespace {

using Conditions = std::vector<scmp_arg_cmp>;

/// The kernel reads the low 32 bits of an int; a caller may set the others to anything.
scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, 0xffffffffU, value};
}
scmp_arg_cmp is_not(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}
scmp_arg_cmp has_bit(std::uint64_t bit) {
  return {0, SCMP_CMP_MASKED_EQ, bit, bit};
}

scmp_arg_cmp opens_to(unsigned argument, std::uint64_t access) {
  return {argument, SCMP_CMP_MASKED_EQ, O_TRUNC | O_ACCMODE, O_TRUNC | access};
}

/// System calls, denied if all conditions of any of the lists hold.
struct Denied {
  bool applies = true;
  std::string_view calls;  ///< the kernel's names, separated by blanks
  std::vector<Conditions> when = {{}};
  int error = EPERM;
};

/// On a CPU only the calls of kAllowed are allowed. Which ones the libraries of a GPU and the
/// compilers of --kernels make is not known.
bool is_allowed_alone(const SandboxNeeds& needs) {
  return !needs.has_gpu && !needs.starts_programs;
}

constexpr std::string_view kAllowed =
    // files
    "access chdir close close_range copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 "
    "epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 faccessat faccessat2 fadvise64 "
    "fallocate fchdir fcntl fdatasync flock fstat fstatfs fsync ftruncate getcwd getdents "
    "getdents64 inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lseek lstat "
    "memfd_create mkdir mkdirat name_to_handle_at newfstatat open openat pipe pipe2 poll ppoll "
    "pread64 preadv preadv2 pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat "
    "readv rename renameat renameat2 rmdir select sendfile splice stat statfs statx "
    "sync_file_range tee umask unlink unlinkat write writev "
    // memory
    "brk get_mempolicy madvise mbind membarrier migrate_pages mincore mlock mlock2 mlockall mmap "
    "move_pages mprotect mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect "
    "set_mempolicy set_mempolicy_home_node "
    // threads, signals and time
    "alarm arch_prctl clock_getres clock_gettime clock_nanosleep clone exit exit_group futex "
    "futex_requeue futex_wait futex_waitv futex_wake get_robust_list getcpu getitimer gettid "
    "gettimeofday kill nanosleep pause prctl restart_syscall rseq rt_sigaction rt_sigpending "
    "rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo "
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
    "sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam "
    "sched_setscheduler sched_yield set_robust_list set_tid_address setitimer sigaltstack "
    "signalfd signalfd4 tgkill time timer_create timer_delete timer_getoverrun timer_gettime "
    "timer_settime timerfd_create timerfd_gettime timerfd_settime times "
    // the process
    "capget getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority getrandom "
    "getresgid getresuid getrlimit getrusage getsid getuid ioprio_get ioprio_set "
    "landlock_add_rule landlock_create_ruleset landlock_restrict_self perf_event_open pidfd_open "
    "prlimit64 seccomp setpriority setrlimit sysinfo uname wait4 waitid";

/// What several ranks need besides.
constexpr std::string_view kAllowedRanks =
    "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg "
    "recvmsg sendmmsg sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown socket "
    "socketpair";

/// Returns the system calls that pure computation does not need.
std::vector<Denied> denied_calls(const SandboxNeeds& needs, std::uint64_t self) {
  // Requests of terminals and of files' owners. The C library's headers define them together with
  // other requests.
  constexpr std::uint64_t kTypes = 0x5412;   // TIOCSTI
  constexpr std::uint64_t kPastes = 0x541c;  // TIOCLINUX
  constexpr std::uint64_t kOwns = 0x8901;    // FIOSETOWN
  constexpr std::uint64_t kOwnsSocket = 0x8902;
  constexpr std::uint64_t kThisProcess = 1;  // IOPRIO_WHO_PROCESS
  constexpr std::uint64_t kNeither = 3;      // neither to read nor to write: no right is asked for
  // Started programs signal nobody outside of their group.
  const std::uint64_t own = needs.starts_programs ? 0 : self;
  const bool has_company = needs.has_ranks || needs.has_gpu;
  const bool is_last = !needs.starts_programs;
  const bool signals_none = is_last || needs.is_of_thread;
  return {
      // io_uring and file handles would bypass the other rules.
      {true,
       "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd "
       "io_uring_setup open_by_handle_at mount umount2 pivot_root chroot open_tree move_mount "
       "fsopen fsmount mount_setattr setns unshare bpf init_module finit_module delete_module "
       "kexec_load kexec_file_load reboot keyctl add_key request_key settimeofday clock_settime "
       "sethostname"},
      {true,
       "clone",
       {{has_bit(CLONE_NEWNS)},
        {has_bit(CLONE_NEWCGROUP)},
        {has_bit(CLONE_NEWUTS)},
        {has_bit(CLONE_NEWIPC)},
        {has_bit(CLONE_NEWUSER)},
        {has_bit(CLONE_NEWPID)},
        {has_bit(CLONE_NEWNET)}}},
      // Calls that Landlock, or an older version of it, does not restrict.
      {true,
       "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr fsetxattr "
       "setxattrat removexattr lremovexattr fremovexattr removexattrat utime utimes futimesat "
       "utimensat truncate"},
      // Landlock before Linux 6.2 lets these empty a file that may only be read.
      {true, "open", {{opens_to(1, O_RDONLY)}, {opens_to(1, kNeither)}}},
      {true, "openat", {{opens_to(2, O_RDONLY)}, {opens_to(2, kNeither)}}},
      // Their flags are in memory, which no filter can read. The C library then makes older calls.
      {true, "clone3 openat2", {{}}, ENOSYS},
      {!needs.has_ranks, "shmctl"},
      {true, "msgctl semctl mq_unlink"},
      {true,
       "ioctl",
       {{is(1, kTypes)},
        {is(1, kPastes)},
        {is(1, kOwns)},
        {is(1, kOwnsSocket)},
        {is(1, FS_IOC_SETFLAGS)},
        {is(1, FS_IOC32_SETFLAGS)},
        {is(1, FS_IOC_FSSETXATTR)}}},
      // Calls on other processes. The process of a thread id is unknown: sched_setaffinity stays
      // allowed.
      {true, "fcntl", {{is(1, F_SETOWN)}, {is(1, F_SETOWN_EX)}}},
      {true, "setpriority ioprio_set", {{is_not(1, 0)}}},
      {true, "ioprio_set", {{is_not(0, kThisProcess)}}},  // not of a group or of a user
      {true,
       "setpriority sched_setscheduler sched_setparam sched_setattr prlimit64 migrate_pages "
       "move_pages",
       {{is_not(0, 0)}}},
      // Signal 0 tests whether a process exists.
      {signals_none, "kill", {{is_not(0, own), is_not(1, 0)}}},
      {signals_none, "tgkill rt_sigqueueinfo rt_tgsigqueueinfo", {{is_not(0, own)}}},
      {signals_none, "tkill pidfd_send_signal"},
      {is_last, "execve execveat"},
      {is_allowed_alone(needs), "clone", {{{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}}}},
      // Ranks connect at their first message. A GPU's libraries pass descriptors through local
      // sockets.
      {!has_company, "socket socketpair shmat mq_open"},
      {has_company, "socket", {{{0, SCMP_CMP_GE, AF_PACKET, 0}}}},
      {has_company && !needs.has_gpu, "socket", {{is(0, AF_UNIX)}}},
      {has_company && !needs.has_gpu, "socketpair"},
  };
}

/// Debian 12's libseccomp lacks the newest calls.
int number_of(std::string_view call) {
  return call == "fchmodat2"       ? 452
         : call == "setxattrat"    ? 463
         : call == "removexattrat" ? 466
                                   : seccomp_syscall_resolve_name(std::string(call).c_str());
}
// Calls that Linux got later, and will get: their effects are not known.
constexpr int kFirstUnknown = 467;
constexpr int kLastUnknown = 530;

class Filter {
 public:
  Filter(std::uint32_t otherwise, const SandboxNeeds& needs)
      : filter_(seccomp_init(otherwise), &seccomp_release) {
    constexpr std::uint32_t kSearched = 2;  // by a tree, not one call after the other
    // Without SCMP_FLTATR_CTL_SSB, older kernels enable mitigations of speculative execution that
    // slow down all code of the process.
    holds_ =
        filter_ != nullptr &&
        seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_TSYNC, needs.is_of_thread ? 0 : 1) == 0 &&
        seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_SSB, 1) == 0 &&
        seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, kSearched) == 0;
  }
  void add(std::uint32_t action, int call, const Conditions& conditions = {}) {
    holds_ = holds_ && (call == __NR_SCMP_ERROR ||
                        seccomp_rule_add_array(filter_.get(), action, call,
                                               static_cast<unsigned>(conditions.size()),
                                               conditions.data()) == 0);
  }
  void add(std::uint32_t action, std::string_view calls, const Conditions& conditions = {}) {
    et_schema::any_word(calls, [&](std::string_view call) {
      add(action, number_of(call), conditions);
      return false;
    });
  }
  [[nodiscard]] bool load() const { return holds_ && seccomp_load(filter_.get()) == 0; }
  /// Returns the filter's program; empty if there is none.
  [[nodiscard]] std::string code() const {
    const int file = memfd_create("filter", MFD_CLOEXEC);
    const bool is_written = holds_ && seccomp_export_bpf(filter_.get(), file) == 0;
    std::string code(is_written ? static_cast<std::size_t>(lseek(file, 0, SEEK_END)) : 0, '\0');
    const ssize_t read = pread(file, code.data(), code.size(), 0);
    code.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
    close(file);
    return code;
  }

 private:
  std::unique_ptr<void, decltype(&seccomp_release)> filter_;
  bool holds_ = false;
};

/// Returns the filters in the order in which they must be loaded. `self`: the process that may
/// signal itself.
std::vector<Filter> filters_for(const SandboxNeeds& needs, std::uint64_t self) {
  std::vector<Filter> filters;
  if (is_allowed_alone(needs)) {
    Filter& allowed = filters.emplace_back(SCMP_ACT_ERRNO(EPERM), needs);
    allowed.add(SCMP_ACT_ALLOW, kAllowed);
    allowed.add(SCMP_ACT_ALLOW, needs.has_ranks ? kAllowedRanks : "");
  }
  Filter& denied = filters.emplace_back(SCMP_ACT_ALLOW, needs);
  for (const Denied& row : denied_calls(needs, self)) {
    for (const Conditions& conditions : row.when) {
      if (row.applies) {
        denied.add(SCMP_ACT_ERRNO(static_cast<unsigned>(row.error)), row.calls, conditions);
      }
    }
  }
  for (int call = kFirstUnknown; call <= kLastUnknown; ++call) {
    denied.add(SCMP_ACT_ERRNO(ENOSYS), call);
  }
  return filters;
}

}  // namespace

bool deny_system_calls(const SandboxNeeds& needs) {
  const std::vector<Filter> filters = filters_for(needs, static_cast<std::uint64_t>(getpid()));
  return std::ranges::all_of(filters, &Filter::load);
}

std::string filters_of_calls() {
  constexpr std::uint64_t kNoProcess = 0x7fff'ffff;
  std::string codes;
  for (const Filter& filter : filters_for({}, kNoProcess)) {
    const std::string code = filter.code();
    if (code.empty()) {
      return "";
    }
    const std::uint64_t bytes = code.size();
    codes.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes)).append(code);
  }
  return codes;
}

}  // namespace understudy::cli
