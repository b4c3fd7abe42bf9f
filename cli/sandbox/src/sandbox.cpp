#include "cli/sandbox/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "et_schema/base/error.h"
#include "system_calls.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

// Constants that Debian 12's headers lack.
constexpr std::uint64_t kTruncate = 1ULL << 14U;
constexpr std::uint64_t kScopeSignal = 1ULL << 1U;
constexpr int kVersionOfRefer = 2;
constexpr int kVersionOfTruncate = 3;
constexpr int kVersionOfScopes = 6;
struct Rules {
  std::uint64_t files = 0;
  std::uint64_t ports = 0;
  std::uint64_t scopes = 0;
};

constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kFiles =
    kWrite | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr std::uint64_t kTree =
    kFiles | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t kAll = kTree | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                               LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                               LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_EXECUTE;

/// A path that can be written besides the outputs. Missing paths need no right.
struct Place {
  bool SandboxNeeds::*need;
  std::string_view path;  ///< "$NAME": the variable's value; "…*": all paths with this prefix
  std::uint64_t rights;
};

constexpr Place kPlaces[] = {
    {nullptr, "/dev/null", kWrite},
    // Ranks of one host share memory. The launcher's folder belongs to the job.
    {&SandboxNeeds::has_ranks, "/dev/shm", kFiles},
    {&SandboxNeeds::has_ranks, "/dev/zero", kWrite},
    {&SandboxNeeds::has_ranks, "$PMIX_SERVER_TMPDIR", kTree},
    // Network adapters.
    {&SandboxNeeds::has_ranks, "/dev/infiniband", kWrite},
    {&SandboxNeeds::has_ranks, "/dev/cxi*", kWrite},
    {&SandboxNeeds::has_ranks, "/dev/hfi*", kWrite},
    {&SandboxNeeds::has_ranks, "/dev/xpmem", kWrite},
    {&SandboxNeeds::has_gpu, "/dev/nvidia*", kWrite},
    // CUDA's driver names its threads here, and fails to open otherwise.
    {&SandboxNeeds::has_gpu, "/proc/self/task", kWrite},
    {&SandboxNeeds::has_gpu, "/dev/kfd", kWrite},
    {&SandboxNeeds::has_gpu, "/dev/dri", kWrite},
    {&SandboxNeeds::has_gpu, "/dev/shm", kFiles},
    // Not the user's cache in ~/.nv: the user's other programs run the code in it.
    {&SandboxNeeds::has_gpu, "$CUDA_CACHE_PATH", kTree},
};

std::vector<fs::path> files_of(const Place& place) {
  if (place.path.starts_with('$')) {
    const char* const named = std::getenv(std::string(place.path.substr(1)).c_str());
    return named != nullptr ? std::vector<fs::path>{named} : std::vector<fs::path>();
  }
  if (!place.path.ends_with('*')) {
    return {place.path};
  }
  const std::string_view begin = place.path.substr(0, place.path.size() - 1);
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(begin).parent_path(), error)) {
    if (entry.path().string().starts_with(begin)) {
      files.push_back(entry.path());
    }
  }
  return files;
}

/// Restricts the calling thread to writing what `needs` names. Returns whether the kernel supports
/// it.
bool restrict_to_writable(const SandboxNeeds& needs) {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const Rules rules{.files = kAll & ~(version < kVersionOfTruncate ? kTruncate : 0) &
                             ~(version < kVersionOfRefer ? LANDLOCK_ACCESS_FS_REFER : 0) &
                             ~(needs.starts_programs ? LANDLOCK_ACCESS_FS_EXECUTE : 0),
                    .scopes = version < kVersionOfScopes ? 0 : kScopeSignal};
  // Older kernels only know the first member.
  const std::size_t size = version < kVersionOfScopes ? sizeof(rules.files) : sizeof(rules);
  const auto ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, size, 0));
  const auto allow = [&](const fs::path& path, std::uint64_t rights) {
    const int place = open(path.c_str(), O_PATH | O_CLOEXEC);
    landlock_path_beneath_attr rule{};
    rule.allowed_access = rights & rules.files;
    rule.parent_fd = place;
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(place);
  };
  for (const fs::path output : needs.outputs) {
    std::error_code error;
    const bool is_in_place = fs::exists(output, error) && !fs::is_regular_file(output, error);
    allow(is_in_place ? output : fs::absolute(output, error).parent_path(),
          is_in_place ? kWrite : kFiles);  // written in place: /dev/null, a pipe
  }
  for (const fs::path folder : needs.folders) {
    allow(folder, kTree);
  }
  for (const Place& place : kPlaces) {
    if (place.need == nullptr || needs.*place.need) {
      for (const fs::path& file : files_of(place)) {
        allow(file, place.rights);
      }
    }
  }
  const bool holds = ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  return holds;
}

std::size_t threads_of_process() {
  std::error_code error;
  const fs::directory_iterator threads("/proc/self/task", error);
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

/// NVIDIA's driver loads its module for computing on first use, through a setuid program. This is
/// impossible after privileges are dropped.
void load_gpu_driver() {
  if (access("/dev/nvidiactl", F_OK) != 0 || access("/dev/nvidia-uvm", F_OK) == 0) {
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    execl("/usr/bin/nvidia-modprobe", "nvidia-modprobe", "-c", "0", "-u", nullptr);
    _exit(1);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

void Sandbox::confine_files(Sandboxing when, const SandboxNeeds& needs) {
  when_ = when;
  needs_ = needs;
  if (when_ == Sandboxing::kOff) {
    return;
  }
  if (needs_.has_gpu) {
    load_gpu_driver();
  }
  threads_outside_ = threads_of_process() - 1;
  files_hold_ = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_to_writable(needs_);
}

void Sandbox::deny_calls() {
  if (when_ == Sandboxing::kOff) {
    return;
  }
  calls_hold_ = deny_system_calls(needs_);
  refuse_gaps();
}

void Sandbox::deny_programs() {
  if (when_ != Sandboxing::kOff && needs_.starts_programs) {
    needs_.starts_programs = false;
    deny_calls();
  }
}

std::string Sandbox::held() const {
  std::vector<std::string> parts;
  if (files_hold_) {
    parts.push_back(threads_outside_ == 0
                        ? "files"
                        : fmt::format("files (but for {} threads)", threads_outside_));
  }
  if (calls_hold_ && !needs_.starts_programs) {
    parts.emplace_back("programs");
  }
  if (calls_hold_ && !needs_.has_ranks && !needs_.has_gpu) {
    parts.emplace_back("sockets");
  }
  return parts.empty() ? "off" : fmt::format("{}", fmt::join(parts, ", "));
}

void Sandbox::refuse_gaps() const {
  if (when_ != Sandboxing::kOn || (files_hold_ && calls_hold_ && threads_outside_ == 0)) {
    return;
  }
  throw et_schema::run_failed(
      "the sandbox cannot be closed",
      {.field = "--sandbox on",
       .expected = "a kernel with Landlock (Linux 5.13) and seccomp, and no thread before it",
       .got = "what holds: " + held(),
       .hint = "Use a newer kernel, or one that allows both inside of this container, and no "
               "library that starts threads as it is loaded; --sandbox auto goes on with what "
               "there is."});
}

}  // namespace understudy::cli
