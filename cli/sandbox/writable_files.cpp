#include "sandbox/writable_files.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

// What Debian 12's headers do not have.
constexpr std::uint64_t kTruncate = 1ULL << 14U;
constexpr std::uint64_t kScopeSignal = 1ULL << 1U;
constexpr int kVersionOfRefer = 2;
constexpr int kVersionOfTruncate = 3;
constexpr int kVersionOfScopes = 6;
struct Rules {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kFiles =
    kWrite | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr std::uint64_t kTree =
    kFiles | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t kAll = kTree | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                               LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                               LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_EXECUTE;

/// A place that can be written beside the outputs. One that is not there needs no right.
struct Place {
  bool (*is_needed)(const SandboxNeeds&);
  std::string_view path;  ///< "$NAME": what the variable names; "…*": what begins so
  std::uint64_t rights;
};

bool always(const SandboxNeeds& /*needs*/) {
  return true;
}
bool with_ranks(const SandboxNeeds& needs) {
  return needs.has_ranks;
}
bool with_gpu(const SandboxNeeds& needs) {
  return needs.has_gpu;
}

constexpr Place kPlaces[] = {
    {always, "/dev/null", kWrite},
    // Ranks of one host share memory. The launcher's folder is the job's own.
    {with_ranks, "/dev/shm", kFiles},
    {with_ranks, "/dev/zero", kWrite},
    {with_ranks, "$PMIX_SERVER_TMPDIR", kTree},
    // Networks' adapters.
    {with_ranks, "/dev/infiniband", kWrite},
    {with_ranks, "/dev/cxi*", kWrite},
    {with_ranks, "/dev/hfi*", kWrite},
    {with_ranks, "/dev/xpmem", kWrite},
    {with_gpu, "/dev/nvidia*", kWrite},
    // CUDA's driver names its threads there, and does not open if it cannot.
    {with_gpu, "/proc/self/task", kWrite},
    {with_gpu, "/dev/kfd", kWrite},
    {with_gpu, "/dev/dri", kWrite},
    {with_gpu, "/dev/shm", kFiles},
    // Not the user's own one in ~/.nv: his other programs run what lies there.
    {with_gpu, "$CUDA_CACHE_PATH", kTree},
};

class Ruleset {
 public:
  explicit Ruleset(bool may_start_programs) {
    const long version =
        syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
      return;
    }
    rules_.handled_access_fs = kAll & ~(version < kVersionOfTruncate ? kTruncate : 0) &
                               ~(version < kVersionOfRefer ? LANDLOCK_ACCESS_FS_REFER : 0) &
                               ~(may_start_programs ? LANDLOCK_ACCESS_FS_EXECUTE : 0);
    rules_.scoped = version < kVersionOfScopes ? 0 : kScopeSignal;
    // An older kernel knows the first member alone.
    const std::size_t size =
        version < kVersionOfScopes ? sizeof(rules_.handled_access_fs) : sizeof(rules_);
    descriptor_ = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules_, size, 0));
  }
  ~Ruleset() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;

  void allow(const fs::path& path, std::uint64_t rights) const {
    const int place = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (place >= 0 && descriptor_ >= 0) {
      landlock_path_beneath_attr rule{};
      rule.allowed_access = rights & rules_.handled_access_fs;
      rule.parent_fd = place;
      syscall(SYS_landlock_add_rule, descriptor_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    if (place >= 0) {
      close(place);
    }
  }
  void allow(const Place& place) const {
    if (place.path.starts_with('$')) {
      const char* const named = std::getenv(std::string(place.path.substr(1)).c_str());
      if (named != nullptr && fs::path(named).is_absolute()) {
        allow(fs::path(named), place.rights);
      }
    } else if (place.path.ends_with('*')) {
      const std::string_view begin = place.path.substr(0, place.path.size() - 1);
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(fs::path(begin).parent_path(), error)) {
        if (entry.path().string().starts_with(begin)) {
          allow(entry.path(), place.rights);
        }
      }
    } else {
      allow(fs::path(place.path), place.rights);
    }
  }
  [[nodiscard]] bool enforce() const {
    return descriptor_ >= 0 && syscall(SYS_landlock_restrict_self, descriptor_, 0) == 0;
  }

 private:
  int descriptor_ = -1;
  Rules rules_;
};

}  // namespace

bool restrict_to_writable(const SandboxNeeds& needs) {
  const Ruleset ruleset(needs.starts_programs);
  for (const fs::path output : needs.outputs) {
    std::error_code error;
    if (fs::exists(output, error) && !fs::is_regular_file(output, error)) {
      ruleset.allow(output, kWrite);  // /dev/null, a pipe
    } else {
      ruleset.allow(fs::absolute(output, error).parent_path(), kFiles);
    }
  }
  for (const fs::path folder : needs.folders) {
    ruleset.allow(folder, kTree);
  }
  for (const Place& place : kPlaces) {
    if (place.is_needed(needs)) {
      ruleset.allow(place);
    }
  }
  return ruleset.enforce();
}

}  // namespace understudy::cli
