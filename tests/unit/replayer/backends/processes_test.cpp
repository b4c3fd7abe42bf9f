#include "processes.h"

#include <gtest/gtest.h>

#include "sleeping_process.h"

namespace understudy::backends {
namespace {

using State = Processes::State;

TEST(Processes, AreAliveStoppedAndEnded) {
  const SleepingProcess child;
  const Processes processes({own_process(), process_here(child.pid())});
  EXPECT_EQ(processes.state(0), State::kAlive);
  EXPECT_EQ(processes.state(1), State::kAlive);
  kill(child.pid(), SIGSTOP);
  waitpid(child.pid(), nullptr, WUNTRACED);
  EXPECT_EQ(processes.state(1), State::kStopped);
  kill(child.pid(), SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(processes.state(1), State::kEnded) << "before its parent has asked for it";
  waitpid(child.pid(), nullptr, 0);
  EXPECT_EQ(processes.state(1), State::kEnded);
}

TEST(Processes, OfTheSameNumberButAnotherStartHaveEnded) {
  ProcessId other = own_process();
  ++other.started;
  EXPECT_EQ(Processes({other}).state(0), State::kEnded);
}

TEST(Processes, OfOtherHostsAreUnknown) {
  ProcessId elsewhere = own_process();
  ++elsewhere.host;
  ProcessId untold = own_process();
  untold.host = 0;
  const Processes processes({elsewhere, untold});
  EXPECT_EQ(processes.state(0), State::kUnknown);
  EXPECT_EQ(processes.state(1), State::kUnknown);
}

}  // namespace
}  // namespace understudy::backends
