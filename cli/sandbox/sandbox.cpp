#include "sandbox/sandbox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "et_schema/support/error.h"
#include "sandbox/denied_calls.h"
#include "sandbox/writable_files.h"

namespace understudy::cli {
namespace {

std::size_t threads_of_process() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

/// NVIDIA's driver loads its part for computing on first use, by a program that takes root's
/// rights. Once they are given up it cannot.
void load_gpu_driver() {
  if (access("/dev/nvidiactl", F_OK) != 0 || access("/dev/nvidia-uvm", F_OK) == 0) {
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    execl("/usr/bin/nvidia-modprobe", "nvidia-modprobe", "-c", "0", "-u", nullptr);
    _exit(1);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

void Sandbox::confine_files(Sandboxing when, const SandboxNeeds& needs) {
  when_ = when;
  needs_ = needs;
  if (when_ == Sandboxing::kOff) {
    return;
  }
  if (needs_.has_gpu) {
    load_gpu_driver();
  }
  threads_outside_ = threads_of_process() - 1;
  files_hold_ = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_to_writable(needs_);
}

void Sandbox::deny_calls() {
  if (when_ == Sandboxing::kOff) {
    return;
  }
  calls_hold_ = load_denied_calls(needs_);
  refuse_gaps();
}

void Sandbox::deny_programs() {
  if (when_ != Sandboxing::kOff && needs_.starts_programs) {
    needs_.starts_programs = false;
    deny_calls();
  }
}

std::string Sandbox::held() const {
  std::vector<std::string> parts;
  if (files_hold_) {
    parts.push_back(threads_outside_ == 0
                        ? "files"
                        : fmt::format("files (but for {} threads)", threads_outside_));
  }
  if (calls_hold_ && !needs_.starts_programs) {
    parts.emplace_back("programs");
  }
  if (calls_hold_ && !needs_.has_ranks && !needs_.has_gpu) {
    parts.emplace_back("sockets");
  }
  return parts.empty() ? "off" : fmt::format("{}", fmt::join(parts, ", "));
}

void Sandbox::refuse_gaps() const {
  if (when_ != Sandboxing::kOn || (files_hold_ && calls_hold_ && threads_outside_ == 0)) {
    return;
  }
  throw et_schema::run_failed(
      "the sandbox cannot be closed",
      {.field = "--sandbox on",
       .expected = "a kernel with Landlock (Linux 5.13) and seccomp, and no thread before it",
       .got = "what holds: " + held(),
       .hint = "Use a newer kernel, or one that allows both inside of this container, and no "
               "library that starts threads as it is loaded; --sandbox auto goes on with what "
               "there is."});
}

}  // namespace understudy::cli
