#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace understudy::cli {

/// Whether a process gives up what operators that only compute do not need.
enum class Sandboxing : std::uint8_t {
  kAuto,  ///< as far as the kernel can
  kOn,    ///< a kernel that cannot is a failure
  kOff
};

/// What a process has still to do once its sandbox is closed.
struct SandboxNeeds {
  std::vector<std::string> outputs = {};  ///< files that it writes, and renames into place
  std::vector<std::string> folders = {};  ///< in which it makes files and folders
  bool has_ranks = false;                 ///< it communicates with other processes
  bool has_gpu = false;
  bool starts_programs = false;  ///< until deny_programs(); they may send each other signals
  bool is_of_thread = false;     ///< of the calling thread and what that starts; not of the others
};

/// Takes from this process, for good and below any code that runs in it, what a stranger's file has
/// no use for: writing files (Landlock), and starting programs, opening sockets, and changing other
/// processes and the attributes of files (seccomp). What is open stays open. Reading files stays
/// possible.
class Sandbox {
 public:
  /// Confines the calling thread, and all threads and processes that it starts from here on, to
  /// writing what `needs` names. Must be called while the process has one thread: other threads
  /// keep their rights, which held() then says.
  void confine_files(Sandboxing when, const SandboxNeeds& needs);
  /// Denies the other calls, to all threads. Call it before a stranger's file is read, after MPI
  /// and the libraries of the user are open. Throws Error (failed) under Sandboxing::kOn if
  /// anything does not hold.
  void deny_calls();
  /// Denies starting programs, too, if `needs` left it possible.
  void deny_programs();

  /// What holds, for the report: "files, programs, sockets", without what the kernel lacks or the
  /// process needs; "off".
  [[nodiscard]] std::string held() const;

 private:
  void refuse_gaps() const;

  Sandboxing when_ = Sandboxing::kOff;
  SandboxNeeds needs_;
  bool files_hold_ = false;
  bool calls_hold_ = false;
  std::size_t threads_outside_ = 0;
};

}  // namespace understudy::cli
