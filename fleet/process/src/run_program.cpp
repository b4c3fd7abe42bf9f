#include "fleet/process/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/words.h"

extern char** environ;

namespace understudy::fleet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{16} << 20U;
constexpr std::size_t kMostErrors = std::size_t{16} << 10U;
constexpr int kPollMs = 200;
constexpr int kFirstPollMs = 1;
constexpr int kCannotStart = 127;
constexpr int kSignalStatus = 128;
constexpr std::chrono::seconds kGrace(5);
constexpr std::chrono::seconds kLateOutput(1);

/// Both ends of a pipe.
struct Pipe {
  std::array<int, 2> ends = {-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw et_schema::run_failed("a program cannot be started",
                                  {.got = std::generic_category().message(errno)});
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends.at(end) >= 0) {
      ::close(ends.at(end));
      ends.at(end) = -1;
    }
  }
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Returns this process' environment, as far as `call` passes it, with its own variables added or
/// replaced.
std::vector<std::string> environment_of(const ProgramCall& call) {
  const std::vector<std::string>& own = call.variables;
  std::vector<std::string> all = own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    const auto replaces = [&](const std::string& other) { return other.starts_with(name); };
    const bool is_passed = et_schema::any_word(call.passes, [&](std::string_view passed) {
      return passed.ends_with('*') ? name.starts_with(passed.substr(0, passed.size() - 1))
                                   : name == std::string(passed) + '=';
    });
    if (is_passed && std::ranges::none_of(own, replaces)) {
      all.push_back(text);
    }
  }
  return all;
}

/// Runs in the child: only calls that are safe between fork and exec.
[[noreturn]] void become(char* const* words, char* const* variables, const Pipe& out,
                         const Pipe& errors, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) {
    ::_exit(kCannotStart);  // the parent ended before prctl()
  }
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out.ends[1], STDOUT_FILENO);
  ::dup2(errors.ends[1], STDERR_FILENO);
  ::execvpe(words[0], words, variables);
  ::_exit(kCannotStart);
}

/// Reads the available bytes; closes the read end at the end of the file.
void drain(Pipe& pipe, std::string& text, std::size_t most, bool keeps_end) {
  std::array<char, 16384> piece{};
  const ssize_t bytes = ::read(pipe.ends[0], piece.data(), piece.size());
  if (bytes <= 0) {
    if (bytes == 0 || errno != EINTR) {
      pipe.close_end(0);
    }
    return;
  }
  text.append(piece.data(), static_cast<std::size_t>(bytes));
  if (text.size() > most) {
    keeps_end ? text.erase(0, text.size() - most) : text.erase(most);
  }
}

/// The started process, until wait() reaps it.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}

  /// Does not reap the process, so its number stays reserved until wait().
  [[nodiscard]] bool has_ended() {
    siginfo_t info{};
    constexpr int kLook = WEXITED | WNOHANG | WNOWAIT;
    if (!has_ended_ &&
        (::waitid(P_PID, static_cast<id_t>(pid_), &info, kLook) == 0 ? info.si_pid == pid_
                                                                     : errno == ECHILD)) {
      has_ended_ = true;
      ended_ = Clock::now();
    }
    return has_ended_;
  }
  /// Returns true if no more output is awaited. Processes that the program left running may hold
  /// its pipes open, so the wait is limited.
  [[nodiscard]] bool has_said_all() const {
    return has_ended_ && Clock::now() >= ended_ + kLateOutput;
  }
  int wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? kSignalStatus + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_;
  bool has_ended_ = false;
  Clock::time_point ended_;
};

class Deadline {
 public:
  explicit Deadline(double timeout_s)
      : is_set_(timeout_s > 0),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(timeout_s))) {}
  /// Sends SIGTERM to the group after the timeout, and SIGKILL after the grace period.
  bool enforce(pid_t group) {
    if (!is_set_ || Clock::now() < end_) {
      return false;
    }
    ::kill(-group, Clock::now() < end_ + kGrace ? SIGTERM : SIGKILL);
    return true;
  }

 private:
  bool is_set_;
  Clock::time_point end_;
};

/// Reads the program's output, enforces the timeout, and waits for the program's end.
ProgramEnd follow(pid_t pid, Pipe& out, Pipe& errors, double timeout_s) {
  ProgramEnd end;
  Child child(pid);
  Deadline deadline(timeout_s);
  int last_ms = kFirstPollMs;
  for (;;) {
    const bool has_pipes = out.ends[0] >= 0 || errors.ends[0] >= 0;
    if (child.has_ended() && (!has_pipes || child.has_said_all())) {
      break;
    }
    std::array<pollfd, 2> waits = {pollfd{out.ends[0], POLLIN, 0},
                                   pollfd{errors.ends[0], POLLIN, 0}};
    // A program that closed its pipes ends soon. No event reports the end, so poll more often.
    ::poll(waits.data(), waits.size(), has_pipes ? kPollMs : last_ms);
    last_ms = has_pipes ? last_ms : std::min(2 * last_ms, kPollMs);
    if (waits[0].revents != 0) {
      drain(out, end.output, kMostOutput, false);
    }
    if (waits[1].revents != 0) {
      drain(errors, end.errors, kMostErrors, true);
    }
    end.timed_out = deadline.enforce(pid) || end.timed_out;
  }
  if (end.timed_out) {
    ::kill(-pid, SIGKILL);  // members of its group that ignored SIGTERM
  }
  end.status = child.wait();
  return end;
}

}  // namespace

ProgramEnd run_program(const ProgramCall& call) {
  std::vector<std::string> words = call.words;
  std::vector<std::string> variables = environment_of(call);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  Pipe out;
  Pipe errors;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    throw et_schema::run_failed("a program cannot be started",
                                {.file = words.front(),
                                 .got = std::generic_category().message(errno),
                                 .hint = "too many processes, or too little memory: fewer --jobs"});
  }
  if (child == 0) {
    become(word_pointers.data(), variable_pointers.data(), out, errors, parent);
  }
  out.close_end(1);
  errors.close_end(1);
  ProgramEnd end = follow(child, out, errors, call.timeout_s);
  if (end.status == kCannotStart && end.output.empty() && end.errors.empty()) {
    throw et_schema::run_failed("a program cannot be started",
                                {.file = words.front(),
                                 .expected = "a program of this system",
                                 .hint = "install it, or name its folder in PATH"});
  }
  return end;
}

}  // namespace understudy::fleet
