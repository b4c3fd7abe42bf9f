// Starts jobs that fail, and checks what a user sees: the text and the exit status. Waiting for the
// jobs tests that they end at all: in the scenarios a late rank never comes.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "et_schema/base/error.h"

namespace understudy::tests {
namespace {

struct Ended {
  int status = -1;  ///< 128 + its number if a signal ended it
  bool is_mpiruns_fault = false;
  std::string output;
};

/// Whether a thread of the process has any child now.
bool has_children(pid_t process) {
  std::error_code gone;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::ifstream children(thread.path() / "children");
    if ((children >> std::ws).peek() != std::ifstream::traits_type::eof()) {
      return true;
    }
  }
  return false;
}

/// Whether mpirun itself crashed. That of Open MPI 4.1 does so now and then while it ends an
/// aborted job (in PMIx_server_finalize), after everything that is checked here. Where it waits for
/// ever for a lock there instead, Watched ends it.
bool has_crashed(const Ended& ended) {
  constexpr int kSegmentationFault = 139;
  return ended.status == kSegmentationFault &&
         ended.output.find("(PMIx_server_finalize+") != std::string::npos;
}

/// A program whose output is read until it ends. It is killed if it continues for long after its
/// last child has ended.
class Watched {
 public:
  explicit Watched(const std::string& command) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { close(output_); }

  Ended end() {
    constexpr int kSecond = 1000;
    constexpr int kLongestAlone = 20;
    Ended ended;
    bool had_children = false;
    int seconds_alone = 0;
    while (true) {
      pollfd readable{output_, POLLIN, 0};
      if (poll(&readable, 1, kSecond) > 0) {
        std::array<char, 4096> block{};
        const ssize_t got = read(output_, block.data(), block.size());
        if (got <= 0) {
          break;
        }
        ended.output.append(block.data(), static_cast<std::size_t>(got));
      }
      const bool has = has_children(process_);
      had_children |= has;
      seconds_alone = has || !had_children || readable.revents != 0 ? 0 : seconds_alone + 1;
      if (seconds_alone == kLongestAlone) {
        ended.is_mpiruns_fault = true;
        kill(process_, SIGKILL);
      }
    }
    int status = 0;
    waitpid(process_, &status, 0);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended.is_mpiruns_fault |= has_crashed(ended);
    return ended;
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

Ended run_once(int ranks, const std::string& scenario, const std::string& flags) {
  return Watched("\"" UNDERSTUDY_MPIRUN "\" " + flags + " -np " + std::to_string(ranks) +
                 " \"" UNDERSTUDY_SCENARIO "\" " + scenario)
      .end();
}

Ended run(int ranks, const std::string& scenario, const std::string& flags = "") {
  constexpr int kTries = 3;
  Ended ended;
  for (int tries = 0; tries < kTries; ++tries) {
    ended = run_once(ranks, scenario, flags);
    if (!ended.is_mpiruns_fault) {
      break;
    }
  }
  return ended;
}

#ifdef UNDERSTUDY_START_RANKS
/// Ranks that meet at a store, as torchrun's do. That module needs LibTorch.
Ended run_by_store(int ranks, const std::string& scenario) {
  return Watched("\"" UNDERSTUDY_START_RANKS "\" " + std::to_string(ranks) +
                 " \"" UNDERSTUDY_SCENARIO "\" " + scenario)
      .end();
}
#endif

#ifdef UNDERSTUDY_PLAYED_CUDA
/// The libraries that are played in place of CUDA's and NCCL's.
constexpr const char* kPlayedGpu = "-x LD_LIBRARY_PATH=\"" UNDERSTUDY_PLAYED_CUDA "\"";
#endif

constexpr const char* kLateHint =
    "a rank that computes for longer than this needs a higher time limit (--timeout); one that "
    "waits in another call runs another program";

std::string late(int rank, const std::string& field, const std::string& expected,
                 const std::string& got) {
  return et_schema::to_text(et_schema::run_failed("a communication did not complete within 3 s",
                                                  {.file = "",
                                                   .rank = rank,
                                                   .field = field,
                                                   .expected = expected,
                                                   .got = got,
                                                   .hint = kLateHint})) +
         "\n";
}

/// The first rank to see the failure ends the job; it may be any of them.
testing::AssertionResult holds_one_of(const Ended& ended, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (ended.output.find(text) != std::string::npos) {
      return testing::AssertionSuccess();
    }
  }
  return testing::AssertionFailure() << "in\n" << ended.output << "\nis none of\n" << texts.front();
}

void expect_end(const Ended& ended, int status) {
  EXPECT_EQ(ended.status, status) << ended.output;
}

TEST(Watching, WhatGoesOnWithoutItsChildrenIsEnded) {
  const Ended hung = Watched("sh -c 'sh -c \"echo child; sleep 2\"; exec sleep 600'").end();
  EXPECT_TRUE(hung.is_mpiruns_fault);
  EXPECT_EQ(hung.output, "child\n");
  const Ended whole = Watched("sh -c 'sh -c \"echo child; sleep 2\"; exit 3'").end();
  EXPECT_FALSE(whole.is_mpiruns_fault);
  EXPECT_EQ(whole.status, 3);
  EXPECT_EQ(whole.output, "child\n");
}

/// The last of three ranks has not started the second call.
void expect_late_third(const Ended& ended, const std::string& got) {
  expect_end(ended, 1);
  const auto text = [&](int rank) {
    return late(rank, "allreduce, call 2 of group 'world'", "every rank of the group in this call",
                "rank 2 " + got);
  };
  EXPECT_TRUE(holds_one_of(ended, {text(0), text(1)}));
}

TEST(TimeLimit, NamesTheRankThatComputes) {
  expect_late_third(run(3, "last_rank_computes"), "has started 1 and is in no communication");
}

#ifdef UNDERSTUDY_PLAYED_CUDA
/// PyTorch counts the call with which a group connects, too.
std::string late_on_device(int rank, const std::string& field) {
  return et_schema::to_text(et_schema::run_failed(
             "a communication between GPUs did not end",
             {.rank = rank,
              .field = field,
              .expected = "an end within 3 s",
              .got = "none",
              .hint = "a rank that computes for longer than this needs a higher time limit "
                      "(--timeout); one that has died, or waits in another call, never comes"})) +
         "\n";
}

TEST(TimeLimit, EndsWhatADeviceWaitsFor) {
  const Ended ended = run(3, "nccl_last_rank_computes", kPlayedGpu);
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(ended, {late_on_device(0, "nccl:all_reduce, call 3 of group 'world'"),
                                   late_on_device(1, "nccl:all_reduce, call 3 of group 'world'")}));
}

TEST(TimeLimit, EndsASendBetweenDevices) {
  const Ended ended = run(2, "nccl_last_rank_does_not_receive", kPlayedGpu);
  expect_end(ended, 1);
  EXPECT_TRUE(
      holds_one_of(ended, {late_on_device(0, "nccl:send 0->1, message 2 of group 'world'")}));
}

TEST(TimeLimit, EndsAllGroupsOfADeviceTogether) {
  const Ended ended = run(2, "nccl_two_groups_stand_still", kPlayedGpu);
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(ended, {late_on_device(0,
                                                  "nccl:all_reduce, call 3 of group 'world'; "
                                                  "nccl:all_reduce, call 3 of group 'side'")}));
  EXPECT_NE(ended.output.find("both ended\n"), std::string::npos) << ended.output;
}
#endif

TEST(TimeLimit, NamesTheCallThatTheOtherRankIsIn) {
  const Ended ended = run(2, "last_rank_is_in_another_call");
  expect_end(ended, 1);
  const std::string expected = "every rank of the group in this call";
  EXPECT_TRUE(holds_one_of(
      ended, {late(0, "allreduce, call 1 of group 'world'", expected,
                   "rank 1 has started 0 and waits in allreduce, call 1 of group 'side'"),
              late(1, "allreduce, call 1 of group 'side'", expected,
                   "rank 0 has started 0 and waits in allreduce, call 1 of group 'world'")}));
}

TEST(TimeLimit, ReceivesWithoutSends) {
  const Ended ended = run(2, "both_receive_first");
  expect_end(ended, 1);
  const auto text = [](int rank) {
    const std::string own = std::to_string(rank);
    const std::string other = std::to_string(1 - rank);
    return late(rank, "recv 1 from rank " + other + " in group 'world'",
                "send 1 to this rank in the group",
                "rank " + other + " has started 0 and waits in recv 1 from rank " + own +
                    " in group 'world'");
  };
  EXPECT_TRUE(holds_one_of(ended, {text(0), text(1)}));
}

TEST(TimeLimit, OfAnAsynchronousCallIsReportedByItsWait) {
  const Ended ended = run(2, "asynchronous_call_is_late");
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(
      ended, {late(0, "recv 1 from rank 1 in group 'world'", "send 1 to this rank in the group",
                   "rank 1 has started 0 and is in no communication")}));
}

TEST(TimeLimit, OfMakingAGroup) {
  const Ended ended = run(2, "group_that_one_rank_does_not_make");
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(ended, {late(0, "_allgather_base, call 2 of group 'set-up of the job'",
                                        "every rank of the group in this call",
                                        "rank 1 has started 1 and is in no communication")}));
}

TEST(TimeLimit, NamesTheRankThatIsStopped) {
  expect_late_third(run(3, "last_rank_is_stopped"), "does not answer: its process is stopped");
}

TEST(TimeLimit, IsNotForARankThatGetsOn) {
  const Ended ended = run(3, "last_rank_is_slow_and_gets_on");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("through\n"), std::string::npos) << ended.output;
}

std::string failed(const std::string& summary, const std::string& expected,
                   const std::string& got) {
  return et_schema::to_text(et_schema::run_failed(
             summary,
             {.file = "", .rank = 0, .field = "", .expected = expected, .got = got, .hint = ""})) +
         "\n";
}

TEST(Mismatch, MessageThatIsSmaller) {
  const Ended ended = run(2, "message_is_smaller");
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(
      ended, {failed("a message of another size", "32 bytes from rank 1 of the group", "16")}));
}

TEST(Mismatch, MessageThatIsLargerHasMpisOwnText) {
  const Ended ended = run(2, "message_is_larger");
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(
      ended, {failed("MPI failed in a transfer", "", "MPI_ERR_TRUNCATE: message truncated")}));
}

/// What rank `rank` says when rank 2 of three has died.
std::string died(int rank) {
  return et_schema::to_text(et_schema::run_failed(
             "a rank has died",
             {.file = "",
              .rank = rank,
              .field = "allreduce, call 2 of group 'world'",
              .expected = "every rank of the group in this call",
              .got = "the process of rank 2 has ended",
              .hint = "what ended it stands in its own output or in the system's log: memory, "
                      "mostly"})) +
         "\n";
}

TEST(Death, AKilledRankEndsTheJob) {
  const Ended ended = run(4, "last_rank_is_killed");
  EXPECT_NE(ended.status, 0);
  EXPECT_NE(ended.output.find("process rank 3"), std::string::npos) << ended.output;
}

// Some launchers let the other ranks continue; their exit status is then their own.
TEST(Death, OfARankIsSeenByTheOthers) {
  const Ended ended = run(3, "last_rank_is_killed", "--enable-recovery");
  EXPECT_TRUE(holds_one_of(ended, {died(0), died(1)}));
}

TEST(Interrupt, EndsACallUnderWay) {
  const Ended ended = run(3, "another_thread_gives_up");
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(
      ended, {failed("communication was given up: this rank has failed elsewhere", "", "")}));
}

#ifdef UNDERSTUDY_PLAYED_CUDA
TEST(Interrupt, NeverComesBetweenTheCheckAndTheCall) {
  const Ended ended = run(1, "aborts_race_with_calls", kPlayedGpu);
  expect_end(ended, 0);
  // PyTorch's watchdog may have said before that it saw an abort.
  EXPECT_TRUE(ended.output.ends_with("200 ended\n")) << ended.output;
}
#endif

TEST(Abort, EndsAllRanksWithItsStatus) {
  const Ended ended = run(4, "last_rank_aborts");
  expect_end(ended, 65);
  EXPECT_NE(ended.output.find("rank gives up\n"), std::string::npos) << ended.output;
}

TEST(Abort, WithCallsUnderWay) {
  expect_end(run(3, "last_rank_aborts_under_way"), 70);
}

TEST(Abort, AnExceptionPastTheBackendDoesNotHang) {
  const Ended ended = run(3, "last_rank_throws_past_the_backend");
  expect_end(ended, 65);
  EXPECT_NE(ended.output.find("thrown with a call under way\n"), std::string::npos) << ended.output;
}

#ifdef UNDERSTUDY_START_RANKS
// The same over sockets: what differs is who ends the other ranks.

TEST(Store, ALateRankIsNamedAndTheOthersEnd) {
  expect_late_third(run_by_store(3, "last_rank_computes"),
                    "has started 1 and is in no communication");
}

TEST(Store, AMessageOfAnotherSizeIsNamedWhicheverIsLarger) {
  EXPECT_TRUE(holds_one_of(
      run_by_store(2, "message_is_larger"),
      {failed("a message of another size", "16 bytes from rank 1 of the group", "32")}));
  EXPECT_TRUE(holds_one_of(
      run_by_store(2, "message_is_smaller"),
      {failed("a message of another size", "32 bytes from rank 1 of the group", "16")}));
}

TEST(Store, AKilledRankIsNamedByTheOthers) {
  EXPECT_TRUE(holds_one_of(run_by_store(3, "last_rank_is_killed"), {died(0), died(1)}));
}

TEST(Store, AnAbortEndsAllRanksWithItsStatus) {
  expect_end(run_by_store(4, "last_rank_aborts"), 65);
}

TEST(Store, ARankThatNeverComes) {
  const Ended ended = Watched(
                          "env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=0 "
                          "\"" UNDERSTUDY_SCENARIO "\" last_rank_computes")
                          .end();
  expect_end(ended, 1);
  EXPECT_TRUE(holds_one_of(
      ended, {et_schema::to_text(et_schema::run_failed(
                  "the ranks did not find each other",
                  {.rank = 0,
                   .field = "127.0.0.1 port 0",
                   .expected = "2 ranks within 3 s",
                   .got = "none from rank 1",
                   .hint = "MASTER_ADDR must be the host of rank 0 as all hosts see it, "
                           "MASTER_PORT free there, WORLD_SIZE the number of processes that are "
                           "started"})) +
              "\n"}));
}

TEST(Store, ItsAddressMustBeTold) {
  const Ended ended =
      Watched("env RANK=0 WORLD_SIZE=2 \"" UNDERSTUDY_SCENARIO "\" last_rank_computes").end();
  expect_end(ended, 2);
  EXPECT_TRUE(holds_one_of(
      ended, {et_schema::to_text(et_schema::usage_error(
                  "a launcher has started several ranks, but does not say where they meet",
                  {.rank = 0,
                   .field = "MASTER_ADDR and MASTER_PORT",
                   .expected = "the address of rank 0 and a free port there, as torchrun sets them",
                   .got = "not both are set",
                   .hint = "start with torchrun or mpirun, or set both; unset RANK and WORLD_SIZE "
                           "for one process"})) +
              "\n"}));
}

#endif

}  // namespace
}  // namespace understudy::tests
