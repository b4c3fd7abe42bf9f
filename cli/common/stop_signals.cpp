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
std::atomic<const char*> announced = nullptr;  // the program's name
std::atomic<const char*> place = "starting";
std::atomic<void (*)()> place_closer = nullptr;
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

void say(const char* words) {
  // If nobody reads it, that is no reason to do anything else.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, words, std::strlen(words));
}

/// "SIGTERM found it in iterations, allreduce, node 30".
void say_place(int number) {
  say(number == SIGINT ? "SIGINT" : "SIGTERM");
  say(" found it in ");
  say(place);
  if (void (*const closer)() = place_closer; closer != nullptr) {
    closer();
  }
}

extern "C" void end_by_signal(int number) {
  say("\n");
  say(announced);
  say(": ended by a signal: ");
  say_place(number);
  say("\n");
  set_action(number, SIG_DFL);
  raise(number);
}

void set_actions(void (*handler)(int)) {
  for (const int number : kSignals) {
    set_action(number, handler);
  }
}

extern "C" void note_signal(int number) {
  noted = number;
  set_actions(announced != nullptr ? end_by_signal : SIG_DFL);
  const char* const words = spoken;
  if (words == nullptr) {
    return;
  }
  say(words);
  if (announced != nullptr) {
    say(" (");
    say_place(number);
    say(")");
  }
  say("\n");
}

}  // namespace

StopSignals::~StopSignals() {
  if (is_set_) {
    announced = nullptr;
    set_actions(SIG_DFL);
  }
}

void StopSignals::announce(const char* program) {
  is_set_ = true;
  announced = program;
  set_actions(end_by_signal);
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
