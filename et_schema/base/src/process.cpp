#include "et_schema/base/process.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace understudy::et_schema {
namespace {

struct Stat {
  char state = '?';
  std::uint64_t started = 0;
};

/// Returns the state of a process from /proc; nothing if the process does not exist.
std::optional<Stat> stat_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) {
    return std::nullopt;
  }
  // The process name, in parentheses, may contain blanks. After it, the state is the first word and
  // the start time the 20th.
  constexpr int kWordsBetween = 18;
  std::istringstream words(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  Stat stat;
  words >> stat.state;
  std::string skipped;
  for (int word = 0; word < kWordsBetween; ++word) {
    words >> skipped;
  }
  words >> stat.started;
  return stat;
}

/// Returns a number for the system's boot and the namespace of process ids; 0 if one is unknown.
std::size_t this_host() {
  static const std::size_t kNumber = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    std::getline(file, boot);
    std::error_code error;
    const std::string names = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
    return boot.empty() || names.empty() ? 0 : std::hash<std::string>()(boot + names);
  }();
  return kNumber;
}

}  // namespace

ProcessId process_here(std::int64_t pid) {
  const std::optional<Stat> stat = stat_of(pid);
  return {stat ? this_host() : 0, pid, stat.value_or(Stat()).started};
}

ProcessId own_process() {
  return process_here(getpid());
}

bool is_here(const ProcessId& process) {
  return process.host != 0 && process.host == this_host();
}

ProcessState state_of(const ProcessId& process) {
  if (!is_here(process)) {
    return ProcessState::kUnknown;
  }
  const std::optional<Stat> stat = stat_of(process.pid);
  if (!stat || stat->started != process.started || stat->state == 'Z' || stat->state == 'X') {
    return ProcessState::kEnded;
  }
  return stat->state == 'T' || stat->state == 't' ? ProcessState::kStopped : ProcessState::kAlive;
}

}  // namespace understudy::et_schema
