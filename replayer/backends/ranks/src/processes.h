#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace understudy::backends {

/// Identifies a process to others on its host. Plain bytes, which can be sent.
struct ProcessId {
  std::size_t host = 0;  ///< of the system's boot and the namespace of process ids; 0: unknown
  std::int64_t pid = 0;
  std::uint64_t started = 0;  ///< clock ticks after boot; needed because process ids are reused
};

[[nodiscard]] ProcessId own_process();
/// Returns the id of another process on this host.
[[nodiscard]] ProcessId process_here(pid_t pid);

/// Checks the processes of a job's ranks that run on this host.
class Processes {
 public:
  enum class State : std::uint8_t {
    kUnknown,  ///< on another host, or not reported by the system
    kAlive,
    kStopped,  ///< by a signal or a debugger
    kEnded
  };
  /// `ranks` is indexed by world rank. If it is empty, all states are unknown.
  Processes() = default;
  explicit Processes(std::vector<ProcessId> ranks)
      : own_(own_process()), ranks_(std::move(ranks)) {}
  [[nodiscard]] State state(int world_rank) const;
  /// Returns process ids by world rank; 0 for ranks on another host.
  [[nodiscard]] std::vector<std::int64_t> pids_here() const;

 private:
  [[nodiscard]] bool is_here(const ProcessId& rank) const;

  ProcessId own_;
  std::vector<ProcessId> ranks_;
};

}  // namespace understudy::backends
