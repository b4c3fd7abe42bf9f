#pragma once

#include <string>

namespace understudy::fleet {

/// What this machine is called where results of alike machines are one series: its processor and
/// cores, "amd-epyc-9b14-2c". Lower case, digits and dashes.
[[nodiscard]] std::string default_platform();

/// Cores that this process may use.
[[nodiscard]] int core_count();

/// "2026-11-21T02:00:00Z". Only ever shown: nothing is decided by the wall clock.
[[nodiscard]] std::string now_utc();

/// Who holds a piece of work: host, its boot and process namespace, process and its start, and
/// `part` of it. No two workers have ever had the same.
[[nodiscard]] std::string this_owner(const std::string& part);

/// True if the owner is a process of this host that is certainly gone. Owners elsewhere may live.
[[nodiscard]] bool is_certainly_gone(const std::string& owner);

/// Who may use a node at a time.
enum class NodeUse {
  kComputing,  ///< any number of these
  kTiming      ///< one, and nobody else
};

/// Holds a node: a timed replay has it alone, against everything of all fleets that computes there.
/// The lock is the kernel's, on a file of the machine that nobody writes to; programs started under
/// it inherit it, so that one that outlives its worker still holds the node.
class NodeLock {
 public:
  /// Waits until it holds the node. Who wants to time comes before those who want to compute and
  /// came later. Throws Error (failed) where the lock's file cannot be made.
  explicit NodeLock(NodeUse use, const std::string& path = default_path());
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

  /// Gives the node back though a program that was started under the lock left something running: a
  /// launcher's daemon does not replay.
  void release();

  /// UNDERSTUDY_NODE_LOCK, else one file for all users of the machine.
  [[nodiscard]] static std::string default_path();

 private:
  int descriptor_ = -1;
};

}  // namespace understudy::fleet
