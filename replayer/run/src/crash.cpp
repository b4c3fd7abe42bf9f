#include "replayer/run/crash.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "et_schema/base/error.h"
#include "et_schema/base/signal_words.h"

namespace understudy::replayer {
namespace {

using et_schema::say;

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
// The handler's own stack, since the crash may be a stack overflow.
constexpr std::size_t kStackBytes = 64 * 1024;

std::string_view cause_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      return "it read or wrote memory that is not there";
    case SIGFPE:
      return "it divided an integer by zero";
    case SIGILL:
      return "it used an instruction that this processor does not have";
    default:
      return "it ended itself";
  }
}

void on_crash(int signal) {
  const Step* step = RunningStep::current();
  if (step == nullptr || step->source == nullptr || step->source->comm) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  const bool is_beyond = signal == SIGSEGV || signal == SIGBUS;
  say("\nreplay: ");
  say(step->source->name);
  say(is_beyond ? " reaches beyond its tensors" : " crashed");
  say("\n  node:     ");
  say(step->source->node_id);
  say("\n  expected: a result, or an error that can be caught\n  got:      signal ");
  say(static_cast<std::uint64_t>(signal));
  say(": ");
  say(cause_of_signal(signal));
  say("\n  hint:     The operator does not check its arguments, and LibTorch has no more to say. "
      "`understudy generate --exclude NAME` leaves it out; another --seed draws other indices.\n");
  _exit(static_cast<int>(is_beyond ? et_schema::ErrorKind::kBadInput
                                   : et_schema::ErrorKind::kFailed));
}

}  // namespace

void name_crashes() {
  static std::array<char, kStackBytes> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : kCrashes) {
    sigaction(signal, &action, nullptr);
  }
}

void say_running_step() {
  if (const Step* step = RunningStep::current(); step != nullptr && step->source != nullptr) {
    say(", ");
    say(step->source->name);
    say(", node ");
    say(step->source->node_id);
  }
}

}  // namespace understudy::replayer
