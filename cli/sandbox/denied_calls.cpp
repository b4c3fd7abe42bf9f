#include "sandbox/denied_calls.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>

namespace understudy::cli {
namespace {

// Numbers of calls and requests that Debian 12's headers do not have, or hide from these.
constexpr int kFchmodat2 = 452;
constexpr int kSetxattrat = 463;
constexpr int kRemovexattrat = 466;
constexpr int kTypeIntoTerminal = 0x5412;  // TIOCSTI
constexpr int kPasteIntoConsole = 0x541c;  // TIOCLINUX
constexpr int kSetOwnerOfFile = 0x8901;    // FIOSETOWN
constexpr int kSetOwnerOfSocket = 0x8902;  // SIOCSPGRP

using Condition = scmp_arg_cmp;

/// The kernel looks at the low half of an int: a caller may put anything into the other one.
constexpr Condition is(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, 0xffffffffU, value};
}
constexpr Condition is_not(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}
constexpr Condition is_from(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_GE, value, 0};
}
constexpr Condition has_bit(unsigned argument, std::uint64_t bit) {
  return {argument, SCMP_CMP_MASKED_EQ, bit, bit};
}

class Filter {
 public:
  explicit Filter(bool is_of_thread) : filter_(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release) {
    // Without the second one older kernels slow down all code of the process, against speculation.
    is_whole_ = filter_ != nullptr &&
                seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_TSYNC, is_of_thread ? 0 : 1) == 0 &&
                seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_SSB, 1) == 0;
  }
  /// Denies calls for which all conditions hold.
  void deny(int call, std::initializer_list<Condition> conditions, int error = EPERM) {
    is_whole_ = is_whole_ && seccomp_rule_add_array(
                                 filter_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call,
                                 static_cast<unsigned>(conditions.size()), conditions.begin()) == 0;
  }
  void deny(std::initializer_list<int> calls) {
    for (const int call : calls) {
      deny(call, {});
    }
  }
  [[nodiscard]] bool load() { return is_whole_ && seccomp_load(filter_.get()) == 0; }

 private:
  std::unique_ptr<void, decltype(&seccomp_release)> filter_;
  bool is_whole_ = false;
};

/// io_uring, and files by their handles, would pass by the rest.
void deny_system(Filter& filter) {
  filter.deny({SCMP_SYS(ptrace),
               SCMP_SYS(process_vm_readv),
               SCMP_SYS(process_vm_writev),
               SCMP_SYS(io_uring_setup),
               SCMP_SYS(mount),
               SCMP_SYS(umount2),
               SCMP_SYS(pivot_root),
               SCMP_SYS(chroot),
               SCMP_SYS(open_tree),
               SCMP_SYS(move_mount),
               SCMP_SYS(fsopen),
               SCMP_SYS(fsmount),
               SCMP_SYS(mount_setattr),
               SCMP_SYS(bpf),
               SCMP_SYS(init_module),
               SCMP_SYS(finit_module),
               SCMP_SYS(delete_module),
               SCMP_SYS(kexec_load),
               SCMP_SYS(kexec_file_load),
               SCMP_SYS(reboot),
               SCMP_SYS(keyctl),
               SCMP_SYS(add_key),
               SCMP_SYS(request_key),
               SCMP_SYS(open_by_handle_at),
               SCMP_SYS(settimeofday),
               SCMP_SYS(clock_settime),
               SCMP_SYS(sethostname)});
  filter.deny({SCMP_SYS(setns), SCMP_SYS(unshare)});
  for (const int space : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                          CLONE_NEWPID, CLONE_NEWNET}) {
    filter.deny(SCMP_SYS(clone), {has_bit(0, static_cast<unsigned>(space))});
  }
  // Its flags lie in memory, where no filter sees them. The C library then calls clone.
  filter.deny(SCMP_SYS(clone3), {}, ENOSYS);
}

/// What Landlock does not know of, and older versions of it.
void deny_attributes(Filter& filter) {
  filter.deny(
      {SCMP_SYS(chmod),       SCMP_SYS(fchmod),       SCMP_SYS(fchmodat),     kFchmodat2,
       SCMP_SYS(chown),       SCMP_SYS(fchown),       SCMP_SYS(lchown),       SCMP_SYS(fchownat),
       SCMP_SYS(setxattr),    SCMP_SYS(lsetxattr),    SCMP_SYS(fsetxattr),    kSetxattrat,
       SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), kRemovexattrat,
       SCMP_SYS(utime),       SCMP_SYS(utimes),       SCMP_SYS(futimesat),    SCMP_SYS(utimensat),
       SCMP_SYS(truncate)});
  for (const std::uint64_t request :
       {std::uint64_t{kTypeIntoTerminal}, std::uint64_t{kPasteIntoConsole},
        std::uint64_t{kSetOwnerOfFile}, std::uint64_t{kSetOwnerOfSocket},
        std::uint64_t{FS_IOC_SETFLAGS}, std::uint64_t{FS_IOC32_SETFLAGS},
        std::uint64_t{FS_IOC_FSSETXATTR}}) {
    filter.deny(SCMP_SYS(ioctl), {is(1, request)});
  }
}

/// Signal 0 asks whether a process is there.
void deny_signals(Filter& filter) {
  const auto own = static_cast<std::uint64_t>(getpid());
  filter.deny(SCMP_SYS(kill), {is_not(0, own), is_not(1, 0)});
  for (const int call :
       {SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)}) {
    filter.deny(call, {is_not(0, own)});
  }
  filter.deny({SCMP_SYS(tkill), SCMP_SYS(pidfd_send_signal)});
  for (const int number : {F_SETOWN, F_SETOWN_EX}) {  // who gets a file's signals
    filter.deny(SCMP_SYS(fcntl), {is(1, static_cast<unsigned>(number))});
  }
}

/// A thread's number does not tell its process, so that sched_setaffinity stays possible.
void deny_processes(Filter& filter) {
  filter.deny({SCMP_SYS(pidfd_getfd), SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease)});
  for (const int call : {SCMP_SYS(setpriority), SCMP_SYS(ioprio_set)}) {
    filter.deny(call, {is_not(1, 0)});
  }
  filter.deny(SCMP_SYS(setpriority), {is_not(0, 0)});
  for (const int call :
       {SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr),
        SCMP_SYS(prlimit64), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages)}) {
    filter.deny(call, {is_not(0, 0)});
  }
}

/// Ranks connect when they first speak to each other. A GPU's libraries hand each other
/// descriptors, through local sockets.
void deny_sockets(Filter& filter, const SandboxNeeds& needs) {
  if (!needs.has_ranks && !needs.has_gpu) {
    filter.deny({SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(shmat), SCMP_SYS(mq_open)});
    return;
  }
  filter.deny(SCMP_SYS(socket), {is_from(0, AF_PACKET)});
  if (!needs.has_gpu) {
    filter.deny(SCMP_SYS(socket), {is(0, AF_UNIX)});
    filter.deny({SCMP_SYS(socketpair)});
  }
}

}  // namespace

bool load_denied_calls(const SandboxNeeds& needs) {
  Filter filter(needs.is_of_thread);
  deny_system(filter);
  deny_attributes(filter);
  deny_processes(filter);
  deny_sockets(filter, needs);
  if (!needs.starts_programs) {
    deny_signals(filter);
    filter.deny({SCMP_SYS(execve), SCMP_SYS(execveat)});
  }
  return filter.load();
}

}  // namespace understudy::cli
