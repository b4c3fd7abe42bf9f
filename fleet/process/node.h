#pragma once

#include <string>

namespace understudy::fleet {

/// Returns the default name of this platform, equal on machines of the same kind: processor and
/// number of cores, "amd-epyc-9b14-2c". Lower case, digits and dashes.
[[nodiscard]] std::string default_platform();

/// "2026-11-21T02:00:00Z". For display only: nothing is decided by the wall clock.
[[nodiscard]] std::string now_utc();

/// Returns the name of a worker: its process (et_schema::ProcessId) and `part`. No two workers ever
/// started share one.
[[nodiscard]] std::string this_owner(const std::string& part);

/// Returns true if the owner is an ended process of this host. Owners elsewhere may be alive.
[[nodiscard]] bool is_certainly_gone(const std::string& owner);

/// Kinds of use of a node.
enum class NodeUse {
  kComputing,  ///< shared with other computing
  kTiming      ///< exclusive
};

/// Locks a node, so that a timed replay excludes all other computing of all fleets there. The lock
/// is a kernel lock on a file of the machine whose content nobody writes. Programs started under it
/// inherit it, so a program that outlives its worker still holds the node.
class NodeLock {
 public:
  /// Waits until the lock is held. A waiting kTiming is served before kComputing that came later.
  /// Throws Error (failed) if the lock file cannot be created.
  explicit NodeLock(NodeUse use, const std::string& path = default_path());
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

  /// Releases the node even if a program started under the lock left a process running, such as a
  /// launcher's daemon, which does not replay.
  void release();

  /// Returns UNDERSTUDY_NODE_LOCK if set, else the path of one file for all users of the machine.
  [[nodiscard]] static std::string default_path();

 private:
  int descriptor_ = -1;
};

}  // namespace understudy::fleet
