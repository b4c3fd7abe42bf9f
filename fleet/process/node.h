#pragma once

#include <string>

namespace understudy::fleet {

/// Returns the default name of this platform, equal on machines of the same kind: processor and
/// number of cores, "amd-epyc-9b14-2c". Lower case, digits and dashes.
[[nodiscard]] std::string default_platform();

/// Locks a node for timed replays, which exclude all other computing of all fleets there
/// (fleet/understudy_fleet/programs.py also shares it). The lock is a kernel lock on a file of the
/// machine whose content nobody writes. Programs started under it inherit it, so a program that
/// outlives this process still holds the node.
class NodeLock {
 public:
  /// Waits until the lock is held; served before others that came later. Throws Error (failed) if
  /// the lock file cannot be created.
  explicit NodeLock(const std::string& path = default_path());
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

  /// Returns UNDERSTUDY_NODE_LOCK if set, else the path of one file for all users of the machine.
  [[nodiscard]] static std::string default_path();

 private:
  int descriptor_ = -1;
};

}  // namespace understudy::fleet
