#include "et_schema/base/process.h"

#include <gtest/gtest.h>

#include "sleeping_process.h"

namespace understudy::et_schema {
namespace {

using State = ProcessState;

TEST(Process, IsAliveStoppedAndEnded) {
  const backends::SleepingProcess child;
  const ProcessId id = process_here(child.pid());
  EXPECT_EQ(state_of(own_process()), State::kAlive);
  EXPECT_EQ(state_of(id), State::kAlive);
  kill(child.pid(), SIGSTOP);
  waitpid(child.pid(), nullptr, WUNTRACED);
  EXPECT_EQ(state_of(id), State::kStopped);
  kill(child.pid(), SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(state_of(id), State::kEnded) << "before its parent has asked for it";
  waitpid(child.pid(), nullptr, 0);
  EXPECT_EQ(state_of(id), State::kEnded);
}

TEST(Process, OfTheSameNumberButAnotherStartHasEnded) {
  ProcessId other = own_process();
  ++other.started;
  EXPECT_EQ(state_of(other), State::kEnded);
}

TEST(Process, OfAnotherHostIsUnknown) {
  ProcessId elsewhere = own_process();
  ++elsewhere.host;
  EXPECT_EQ(state_of(elsewhere), State::kUnknown);
  EXPECT_FALSE(is_here(elsewhere));
  elsewhere.host = 0;
  EXPECT_EQ(state_of(elsewhere), State::kUnknown);
}

}  // namespace
}  // namespace understudy::et_schema
