#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy::et_schema {

/// Identifies a process on its host, even after its number was given to another. Plain bytes, which
/// can be sent.
struct ProcessId {
  std::size_t host = 0;  ///< hash of the boot and of the namespace of process ids; 0: unknown
  std::int64_t pid = 0;
  std::uint64_t started = 0;  ///< clock ticks after boot
};

enum class ProcessState : std::uint8_t {
  kUnknown,  ///< on another host, or not reported by the system
  kAlive,
  kStopped,  ///< by a signal or a debugger
  kEnded
};

/// Returns the id of a process on this host.
[[nodiscard]] ProcessId process_here(std::int64_t pid);
[[nodiscard]] ProcessId own_process();
[[nodiscard]] bool is_here(const ProcessId& process);
[[nodiscard]] ProcessState state_of(const ProcessId& process);

}  // namespace understudy::et_schema
