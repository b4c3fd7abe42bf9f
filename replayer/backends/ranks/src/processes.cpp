#include "processes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace understudy::backends {
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
std::size_t host_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::error_code error;
  const std::string names = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return boot.empty() || names.empty() ? 0 : std::hash<std::string>()(boot + names);
}

}  // namespace

ProcessId process_here(pid_t pid) {
  const std::optional<Stat> stat = stat_of(pid);
  return {stat ? host_number() : 0, pid, stat.value_or(Stat()).started};
}

ProcessId own_process() {
  return process_here(getpid());
}

bool Processes::is_here(const ProcessId& rank) const {
  return own_.host != 0 && rank.host == own_.host;
}

std::vector<std::int64_t> Processes::pids_here() const {
  std::vector<std::int64_t> pids;
  std::ranges::transform(ranks_, std::back_inserter(pids), [this](const ProcessId& rank) {
    return is_here(rank) ? rank.pid : std::int64_t{0};
  });
  return pids;
}

Processes::State Processes::state(int world_rank) const {
  if (ranks_.empty()) {
    return State::kUnknown;
  }
  const ProcessId& rank = ranks_.at(static_cast<std::size_t>(world_rank));
  if (!is_here(rank)) {
    return State::kUnknown;
  }
  const std::optional<Stat> stat = stat_of(rank.pid);
  if (!stat || stat->started != rank.started || stat->state == 'Z' || stat->state == 'X') {
    return State::kEnded;
  }
  return stat->state == 'T' || stat->state == 't' ? State::kStopped : State::kAlive;
}

}  // namespace understudy::backends
