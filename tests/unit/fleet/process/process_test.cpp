#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <future>
#include <optional>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/processor.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"
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
      const NodeLock lock(path);
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
    const NodeLock lock(path);
    child.emplace();
  }
  auto other = std::async(std::launch::async, [&path] { const NodeLock lock(path); });
  EXPECT_EQ(other.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  child.reset();
  other.get();
}

TEST(Nodes, HaveANameOfTheirKind) {
  const std::string name = default_platform();
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
  EXPECT_TRUE(name.ends_with("-" + std::to_string(et_schema::usable_cores()) + "c"));
}

}  // namespace
}  // namespace understudy::fleet
