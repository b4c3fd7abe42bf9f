#include "common/stop_signals.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

namespace understudy::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
std::atomic<int> noted = 0;
std::atomic<const char*> spoken = nullptr;
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

/// Sets what a signal does, unless it is ignored.
void set_action(int number, void (*handler)(int)) {
  struct sigaction old {};
  sigaction(number, nullptr, &old);
  if (old.sa_handler == SIG_IGN) {
    return;
  }
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

extern "C" void note_signal(int number) {
  noted = number;
  for (const int each : kSignals) {
    set_action(each, SIG_DFL);
  }
  if (const char* const words = spoken; words != nullptr) {
    // If nobody reads it, that is no reason to do anything else.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, words, std::strlen(words));
  }
}

}  // namespace

StopSignals::~StopSignals() {
  if (is_listening_) {
    for (const int number : kSignals) {
      set_action(number, SIG_DFL);
    }
  }
}

void StopSignals::listen(const char* words) {
  if (is_listening_) {
    return;
  }
  is_listening_ = true;
  spoken = words;
  for (const int number : kSignals) {
    set_action(number, note_signal);
  }
}

const std::atomic<int>& StopSignals::signal() {
  return noted;
}

}  // namespace understudy::cli
