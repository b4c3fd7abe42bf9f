#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace understudy::backends {

/// Identifies a process for others on its host. Plain bytes, to be sent.
struct ProcessId {
  static constexpr std::size_t kHostBytes = 96;
  /// The boot of the system and the namespace of process numbers; empty: not known.
  std::array<char, kHostBytes> host{};
  std::int64_t pid = 0;
  std::uint64_t started = 0;  ///< clock ticks after boot, since numbers of processes are used again
};

[[nodiscard]] ProcessId own_process();
/// The id of another process on this host.
[[nodiscard]] ProcessId process_here(pid_t pid);

/// Checks the processes of a job's ranks, as far as they are on this host.
class Processes {
 public:
  enum class State : std::uint8_t {
    kUnknown,  ///< on another host, or the system does not tell
    kAlive,
    kStopped,  ///< by a signal or a debugger
    kEnded
  };
  /// `ranks`: by world rank. Without any, nothing is known.
  Processes() = default;
  explicit Processes(std::vector<ProcessId> ranks)
      : own_(own_process()), ranks_(std::move(ranks)) {}
  [[nodiscard]] State state(int world_rank) const;
  /// By world rank; 0 for those on another host.
  [[nodiscard]] std::vector<std::int64_t> pids_here() const;

 private:
  [[nodiscard]] bool is_here(const ProcessId& rank) const;

  ProcessId own_;
  std::vector<ProcessId> ranks_;
};

}  // namespace understudy::backends
