#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace understudy::cli {

/// Whether a process drops rights that pure computation does not need.
enum class Sandboxing : std::uint8_t {
  kAuto,  ///< as far as the kernel supports it
  kOn,    ///< fails if the kernel does not support it
  kOff
};

/// What a process must still be able to do in its sandbox.
struct SandboxNeeds {
  std::vector<std::string> outputs = {};  ///< files that the process writes, and renames into place
  std::vector<std::string> folders = {};  ///< folders in which the process makes files and folders
  bool has_ranks = false;                 ///< the process communicates with other processes
  bool has_gpu = false;
  bool starts_programs = false;  ///< only until deny_programs(); they may signal each other
  bool is_of_thread = false;     ///< applies to the calling thread and its descendants only
};

/// Permanently removes rights from this process that replaying an untrusted file does not need:
/// writing files (Landlock); starting programs, opening sockets, and changing other processes and
/// file attributes (seccomp). Open files stay open, and files can still be read.
class Sandbox {
 public:
  /// Restricts the calling thread, and all threads and processes that it starts later, to writing
  /// what `needs` requires. Must be called while the process has one thread: other threads keep
  /// their rights, which held() then reports.
  void confine_files(Sandboxing when, const SandboxNeeds& needs);
  /// Denies the other system calls to all threads. Must be called before an untrusted file is read,
  /// and after MPI and the user's libraries are loaded. Throws Error (failed) under Sandboxing::kOn
  /// if any restriction is not in effect.
  void deny_calls();
  /// Also denies starting programs, if `needs` allowed it so far.
  void deny_programs();

  /// Returns the restrictions in effect, for the report: "files, programs, sockets", without those
  /// that the kernel lacks or `needs` excludes; "off" if there are none.
  [[nodiscard]] std::string held() const;

 private:
  void refuse_gaps() const;

  Sandboxing when_ = Sandboxing::kOff;
  SandboxNeeds needs_;
  bool files_hold_ = false;
  bool calls_hold_ = false;
  std::size_t threads_outside_ = 0;
};

/// Returns the filters of a sandbox that needs nothing, for a program that has to load them itself
/// (PR_SET_SECCOMP) before it reads an untrusted file: one that must start before its calls can be
/// denied. It may signal no process. Each follows its number of bytes, of 64 bits, in the order in
/// which they are loaded. Empty if the system's library cannot make them.
[[nodiscard]] std::string filters_of_calls();

}  // namespace understudy::cli
