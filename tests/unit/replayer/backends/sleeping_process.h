#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace understudy::backends {

/// A process that sleeps until it is killed.
class SleepingProcess {
 public:
  SleepingProcess() : pid_(fork()) {
    while (pid_ == 0) {
      pause();
    }
  }
  SleepingProcess(const SleepingProcess&) = delete;
  SleepingProcess& operator=(const SleepingProcess&) = delete;
  ~SleepingProcess() { end(); }
  void end() {
    if (const pid_t pid = std::exchange(pid_, 0); pid > 0) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace understudy::backends
