#include "cli/common/stop_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "et_schema/base/signal_words.h"

namespace understudy::cli {
namespace {

using et_schema::NumberText;
using et_schema::say;

constexpr std::array kSignals = {SIGINT, SIGTERM};
std::atomic<int> noted = 0;
std::atomic<const char*> spoken = nullptr;
std::atomic<const char*> announced = nullptr;  // the program's name
std::atomic<const char*> place = "starting";
std::atomic<void (*)()> place_closer = nullptr;
std::vector<std::int64_t> known_ranks;  // changes only before listen()
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

using Handler = void (*)(int, siginfo_t*, void*);

/// Sets the handler of a signal unless the signal is ignored; null: default.
void set_action(int number, Handler handler) {
  struct sigaction old {};
  sigaction(number, nullptr, &old);
  if (old.sa_handler == SIG_IGN) {
    return;
  }
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  if (handler == nullptr) {
    action.sa_handler = SIG_DFL;
  } else {
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = handler;
  }
  sigaction(number, &action, nullptr);
}

void set_actions(Handler handler) {
  for (const int number : kSignals) {
    set_action(number, handler);
  }
}

// The following functions are safe in a signal handler.

/// Reads the first bytes of /proc/PID + `name` ("/comm").
class ProcessFile {
 public:
  ProcessFile(std::int64_t pid, std::string_view name) {
    std::array<char, 48> path{};
    char* end = path.data();
    for (const std::string_view part :
         {std::string_view("/proc/"), NumberText(static_cast<std::uint64_t>(pid)).text(), name}) {
      end = std::copy(part.begin(), part.end(), end);
    }
    const int before = errno;
    const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      length_ = std::max<ssize_t>(read(file, bytes_.data(), bytes_.size()), 0);
      close(file);
    }
    errno = before;
  }
  /// Empty if there is no such process.
  [[nodiscard]] std::string_view text() const {
    return {bytes_.data(), static_cast<std::size_t>(length_)};
  }

 private:
  std::array<char, 64> bytes_{};
  ssize_t length_ = 0;
};

/// Returns true if the process has ended.
bool has_ended(std::int64_t pid) {
  const ProcessFile file(pid, "/stat");
  const std::size_t name_end = file.text().rfind(')');
  return file.text().empty() ||
         (name_end + 2 < file.text().size() && file.text()[name_end + 2] == 'Z');
}

/// Writes "replay: rank 1, rank 2 have ended, and with them the measurement" for ranks on this
/// host. Returns false, and writes nothing, if none has ended.
bool say_ended_ranks() {
  int ended = 0;
  for (std::size_t rank = 0; rank < known_ranks.size(); ++rank) {
    if (known_ranks[rank] != 0 && has_ended(known_ranks[rank])) {
      say(++ended == 1 ? "\nreplay: rank " : ", rank ");
      say(static_cast<std::uint64_t>(rank));
    }
  }
  if (ended > 0) {
    say(ended == 1 ? " has ended, and with it the measurement"
                   : " have ended, and with them the measurement");
  }
  return ended > 0;
}

/// Writes "SIGTERM from mpirun found it in iterations, allreduce, node 30".
void say_place(int number, const siginfo_t& info) {
  say(number == SIGINT ? "SIGINT" : "SIGTERM");
  if (info.si_code <= 0 && info.si_pid != 0) {  // sent by a process
    const ProcessFile file(info.si_pid, "/comm");
    const std::string_view name = file.text().substr(0, file.text().find('\n'));
    say(name.empty() ? "" : " from ");
    say(name);
  }
  say(" found it in ");
  say(std::string_view(place.load()));
  if (void (*const closer)() = place_closer; closer != nullptr) {
    closer();
  }
}

void end_by_default(int number) {
  set_action(number, nullptr);
  raise(number);
}

extern "C" void end_by_signal(int number, siginfo_t* info, void* /*context*/) {
  say("\n");
  say(announced.load());
  say(": ended by a signal: ");
  say_place(number, *info);
  say("\n");
  end_by_default(number);
}

extern "C" void note_signal(int number, siginfo_t* info, void* /*context*/) {
  noted = number;
  set_actions(announced != nullptr ? end_by_signal : nullptr);
  const char* const words = spoken;
  if (words == nullptr) {
    return;
  }
  const bool is_over = say_ended_ranks();
  if (!is_over) {
    say(words);
  }
  if (announced != nullptr || !known_ranks.empty()) {
    say(" (");
    say_place(number, *info);
    say(")");
  }
  say("\n");
  if (is_over) {
    end_by_default(number);
  }
}

}  // namespace

StopSignals::~StopSignals() {
  if (is_set_) {
    announced = nullptr;
    set_actions(nullptr);
  }
}

void StopSignals::announce(const char* program) {
  is_set_ = true;
  announced = program;
  set_actions(end_by_signal);
}

void StopSignals::know(std::vector<std::int64_t> processes) {
  known_ranks = std::move(processes);
}

void StopSignals::at(const char* where, void (*closer)()) {
  place = where;
  place_closer = closer;
}

void StopSignals::listen(const char* words) {
  if (is_listening_) {
    return;
  }
  is_set_ = is_listening_ = true;
  spoken = words;
  set_actions(note_signal);
}

const std::atomic<int>& StopSignals::signal() {
  return noted;
}

}  // namespace understudy::cli
