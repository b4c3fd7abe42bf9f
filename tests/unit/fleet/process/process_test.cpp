#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>
#include <optional>
#include <system_error>
#include <thread>

#include "et_schema/base/error.h"
#include "et_schema/base/processor.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"
#include "process/ended_process.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace understudy::fleet {
namespace {

TEST(Programs, EndAsTheyEnd) {
  const ProgramEnd end =
      run_program({.words = {"sh", "-c", "echo out; echo err >&2; echo $WORD; exit 7"},
                   .variables = {"WORD=w"}});
  EXPECT_EQ(end.status, 7);
  EXPECT_EQ(end.output, "out\nw\n");
  EXPECT_EQ(end.errors, "err\n");
  EXPECT_FALSE(end.timed_out);
}

TEST(Programs, ReadNothing) {
  EXPECT_EQ(run_program({.words = {"cat"}}).status, 0);
}

TEST(Programs, ASignalIsAStatus) {
  EXPECT_EQ(run_program({.words = {"sh", "-c", "kill -9 $$"}}).status, 128 + 9);
}

TEST(Programs, LongOutputIsCutAndDoesNotBlock) {
  const ProgramEnd end = run_program(
      {.words = {"sh", "-c",
                 "head -c 20000000 /dev/zero; head -c 100000 /dev/zero >&2; echo end >&2"}});
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.output.size(), std::size_t{16} << 20U);
  EXPECT_EQ(end.errors.size(), std::size_t{16} << 10U);
  EXPECT_TRUE(end.errors.ends_with("end\n"));
}

TEST(Programs, TimeEndsThemWithWhatTheyStarted) {
  const ProgramEnd end =
      run_program({.words = {"sh", "-c", "sleep 1000 & wait"}, .timeout_s = 0.2});
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.status, 128 + SIGTERM);
}

// A launcher's daemon keeps the pipes that it got from it.
TEST(Programs, WhatTheyLeaveRunningIsNotWaitedFor) {
  const ProgramEnd end = run_program({.words = {"setsid", "-f", "sh", "-c", "sleep 5; echo late"}});
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.output, "");
}

TEST(Programs, TimeEndsThoseThatHaveClosedTheirOutputs) {
  const ProgramEnd end =
      run_program({.words = {"sh", "-c", "exec >&- 2>&-; exec sleep 1000"}, .timeout_s = 0.2});
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.status, 128 + SIGTERM);
}

TEST(Programs, OneThatIsMissingIsNamed) {
  EXPECT_EQ(
      error_of([] { return run_program({.words = {"/nowhere/program"}}); }),
      told("a program cannot be started", "file: /nowhere/program",
           "expected: a program of this system", "hint: install it, or name its folder in PATH"));
}

TEST(Owners, LiveAsLongAsTheirProcess) {
  EXPECT_FALSE(is_certainly_gone(this_owner("1")));
  EXPECT_NE(this_owner("1"), this_owner("2"));
  EXPECT_FALSE(is_certainly_gone("elsewhere|boot|ns|1|1|1"));
  EXPECT_FALSE(is_certainly_gone(""));
  EXPECT_TRUE(is_certainly_gone(ended_owner("1")));
}

TEST(Owners, AnotherProcessOfTheSameNumberIsAnother) {
  std::string owner = this_owner("1");
  const std::size_t part = owner.rfind('|');
  const std::size_t start = owner.rfind('|', part - 1);
  owner.replace(start + 1, part - start - 1, "1");  // began at boot
  EXPECT_TRUE(is_certainly_gone(owner));
}

/// Whether another could lock the file now: LOCK_SH to compute, LOCK_EX to time.
bool can_be_had(const std::string& path, int operation) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_free = ::flock(file, operation | LOCK_NB) == 0;
  ::close(file);
  return is_free;
}

/// Others can put what they like where the lock is.
TEST(NodeLocks, WhatIsNoFileIsRefused) {
  const testing_files::TemporaryFolder folder;
  const std::string mine = folder.write("mine", "untouched");
  const std::string link = folder.path() + "/link";
  const std::string pipe = folder.path() + "/pipe";
  std::filesystem::create_symlink(mine, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = [](const std::string& path) {
    try {
      const NodeLock lock(NodeUse::kTiming, path);
    } catch (const et_schema::Error& error) {
      return et_schema::to_text(error);
    }
    return std::string("locked");
  };
  EXPECT_EQ(refused(link), "the node cannot be locked for a replay\n  file:     " + link +
                               "\n  expected: a file that can be read, or a place for one\n"
                               "  got:      Too many levels of symbolic links\n"
                               "  hint:     name another file: UNDERSTUDY_NODE_LOCK=FILE");
  EXPECT_NE(refused(pipe).find("got:      something else than a file"), std::string::npos);
  EXPECT_EQ(refused(folder.path() + "/new"), "locked");
  struct stat status {};
  ASSERT_EQ(::stat((folder.path() + "/new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0444U);  // for all to lock and for none to write
}

TEST(NodeLocks, ManyMayCompute) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  const NodeLock a(NodeUse::kComputing, path);
  EXPECT_TRUE(can_be_had(path, LOCK_SH));
  EXPECT_FALSE(can_be_had(path, LOCK_EX));
}

TEST(NodeLocks, WhoTimesIsAlone) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  std::atomic<int> inside = 0;
  std::atomic<bool> was_alone = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        const bool times = i == 0;
        const NodeLock lock(times ? NodeUse::kTiming : NodeUse::kComputing, path);
        ++inside;
        std::this_thread::yield();
        was_alone = was_alone && (!times || inside == 1);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(was_alone);
}

/// A process that was forked here, and keeps what is open, until this goes.
class Child {
 public:
  Child() {
    if (::pipe(ends_.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends_[1]);
      char end = 0;
      std::ignore = ::read(ends_[0], &end, 1);  // until the parent closes its end
      ::_exit(0);
    }
    ::close(ends_[0]);
  }
  ~Child() {
    ::close(ends_[1]);
    ::waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  std::array<int, 2> ends_{};
  pid_t process_ = 0;
};

TEST(NodeLocks, AProgramThatOutlivesItsWorkerHoldsTheNode) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  std::optional<Child> child;
  {
    const NodeLock lock(NodeUse::kTiming, path);
    child.emplace();
  }
  auto other =
      std::async(std::launch::async, [&path] { const NodeLock lock(NodeUse::kComputing, path); });
  EXPECT_EQ(other.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  child.reset();
  other.get();
}

TEST(NodeLocks, GivenBackTheyAreFreeWhateverWasLeftRunning) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  NodeLock lock(NodeUse::kTiming, path);
  const Child child;
  EXPECT_FALSE(can_be_had(path, LOCK_SH));
  lock.release();
  EXPECT_TRUE(can_be_had(path, LOCK_EX));
}

TEST(Nodes, HaveANameOfTheirKind) {
  const std::string name = default_platform();
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
  EXPECT_TRUE(name.ends_with("-" + std::to_string(et_schema::usable_cores()) + "c"));
  EXPECT_EQ(now_utc().size(), std::string("2026-11-21T02:00:00Z").size());
}

}  // namespace
}  // namespace understudy::fleet
