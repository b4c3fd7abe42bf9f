#include "sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "et_schema/support/error.h"

namespace understudy::replayer {
namespace {

namespace fs = std::filesystem;

/// What a program that only computes never asks of the kernel. io_uring would pass by the rest.
constexpr std::array kPrograms = {SCMP_SYS(execve),
                                  SCMP_SYS(execveat),
                                  SCMP_SYS(ptrace),
                                  SCMP_SYS(process_vm_readv),
                                  SCMP_SYS(process_vm_writev),
                                  SCMP_SYS(io_uring_setup),
                                  SCMP_SYS(mount),
                                  SCMP_SYS(umount2),
                                  SCMP_SYS(pivot_root),
                                  SCMP_SYS(chroot),
                                  SCMP_SYS(setns),
                                  SCMP_SYS(unshare),
                                  SCMP_SYS(bpf),
                                  SCMP_SYS(init_module),
                                  SCMP_SYS(finit_module),
                                  SCMP_SYS(kexec_load),
                                  SCMP_SYS(reboot),
                                  SCMP_SYS(keyctl)};

bool deny_calls(bool deny_sockets) {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW),
                                                                 &seccomp_release);
  // Without it older kernels slow down all code of the process, against speculation.
  bool is_whole = filter != nullptr && seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_SSB, 1) == 0;
  const auto deny = [&](int call) {
    is_whole = is_whole && seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0) == 0;
  };
  for (const int call : kPrograms) {
    deny(call);
  }
  if (deny_sockets) {
    deny(SCMP_SYS(socket));
  }
  return is_whole && seccomp_load(filter.get()) == 0;
}

/// Rights that came after Debian 12's headers are not asked for.
constexpr std::uint64_t kMakes = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                 LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr std::uint64_t kTruncate = 1ULL << 14U;  ///< from Landlock's third version on
constexpr int kVersionOfTruncate = 3;

class Landlock {
 public:
  Landlock() {
    const long version =
        syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
      return;
    }
    write_ = LANDLOCK_ACCESS_FS_WRITE_FILE | (version >= kVersionOfTruncate ? kTruncate : 0);
    landlock_ruleset_attr rules{};
    rules.handled_access_fs = write_ | kMakes | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                              LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
    descriptor_ = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0));
  }
  ~Landlock() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Landlock(const Landlock&) = delete;
  Landlock& operator=(const Landlock&) = delete;

  void allow_writing(const fs::path& file) { allow(file, write_); }
  void allow_files_in(const fs::path& folder) {
    allow(folder, write_ | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE);
  }
  bool enforce() const {
    return descriptor_ >= 0 && syscall(SYS_landlock_restrict_self, descriptor_, 0) == 0;
  }

 private:
  /// What is not there needs no right.
  void allow(const fs::path& path, std::uint64_t rights) const {
    const int place = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (place >= 0 && descriptor_ >= 0) {
      landlock_path_beneath_attr rule{};
      rule.allowed_access = rights;
      rule.parent_fd = place;
      syscall(SYS_landlock_add_rule, descriptor_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    if (place >= 0) {
      close(place);
    }
  }

  int descriptor_ = -1;
  std::uint64_t write_ = 0;
};

bool confine_files(const SandboxNeeds& needs) {
  Landlock landlock;
  for (const fs::path output : needs.outputs) {
    std::error_code error;
    if (fs::exists(output, error) && !fs::is_regular_file(output, error)) {
      landlock.allow_writing(output);  // /dev/null, a pipe
    } else {
      landlock.allow_files_in(fs::absolute(output, error).parent_path());
    }
  }
  // Some of these devices compute or only take; by the others ranks and a GPU's libraries share
  // memory.
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/tty", "/dev/kfd"}) {
    landlock.allow_writing(device);
  }
  for (const char* folder : {"/dev/dri", "/dev/infiniband", "/dev/pts"}) {
    landlock.allow_writing(folder);
  }
  if (needs.opens_sockets) {
    landlock.allow_files_in("/dev/shm");
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/dev", error)) {
      if (entry.path().filename().string().starts_with("nvidia")) {
        landlock.allow_writing(entry.path());
      }
    }
  }
  return landlock.enforce();
}

}  // namespace

std::string enter_sandbox(Sandbox sandbox, const SandboxNeeds& needs) {
  if (sandbox == Sandbox::kOff) {
    return "off";
  }
  std::vector<std::string> held;
  const bool may_restrict = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (may_restrict && confine_files(needs)) {
    held.emplace_back("files");
  }
  if (may_restrict && deny_calls(!needs.opens_sockets)) {
    held.emplace_back("programs");
    if (!needs.opens_sockets) {
      held.emplace_back("sockets");
    }
  }
  const std::string text = held.empty() ? "off" : fmt::format("{}", fmt::join(held, ", "));
  const std::size_t wanted = needs.opens_sockets ? 2 : 3;
  if (sandbox == Sandbox::kOn && held.size() < wanted) {
    throw et_schema::run_failed(
        "the sandbox cannot be closed",
        {.field = "--sandbox on",
         .expected = "a kernel with Landlock (Linux 5.13) and seccomp",
         .got = "what holds: " + text,
         .hint = "Use a newer kernel, or one that allows both inside of this container; "
                 "--sandbox auto goes on with what there is."});
  }
  return text;
}

}  // namespace understudy::replayer
