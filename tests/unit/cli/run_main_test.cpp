#include "cli/common/run_main.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

struct Outcome {
  int status = 0;
  std::string error;
};

Outcome run(const std::function<int()>& body, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), "tool");
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = run_main("tool", static_cast<int>(argv.size()), argv.data(), body);
  outcome.error = testing::internal::GetCapturedStderr();
  return outcome;
}

int throw_bad_input() {
  throw et_schema::bad_input("a sentence", {.file = "x.json"});
}

TEST(RunMain, ReturnsWhatTheBodyReturns) {
  const Outcome outcome = run([] { return 3; });
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.error, "");
}

TEST(RunMain, ErrorsHaveTheirStatusAndText) {
  const Outcome outcome = run(&throw_bad_input);
  EXPECT_EQ(outcome.status, 65);
  EXPECT_EQ(outcome.error, "tool: a sentence\n  file:     x.json\n");
  EXPECT_EQ(run([]() -> int { throw et_schema::usage_error("u", {}); }).status, 2);
  EXPECT_EQ(run([]() -> int { throw et_schema::run_failed("f", {}); }).status, 1);
}

TEST(RunMain, ErrorsCannotSteerATerminal) {
  const auto fail = []() -> int { throw et_schema::usage_error("no\x1b[2J", {.got = "a\x9b"}); };
  EXPECT_EQ(run(fail).error, "tool: no\\u001b[2J\n  got:      a\\x9b\n");
  EXPECT_EQ(
      run([]() -> int { throw et_schema::usage_error("a\u009b\u202e", {}); }, {"--format", "json"})
          .error,
      R"({"error":{"summary":"a\u009b\u202e","file":"","rank":null,"node":null,"field":"",)"
      R"("expected":"","got":"","hint":""}})"
      "\n");
}

TEST(RunMain, ErrorsAreJsonWhereTheResultWouldBe) {
  const std::string json =
      R"({"error":{"summary":"a sentence","file":"x.json","rank":null,"node":null,"field":"",)"
      R"("expected":"","got":"","hint":""}})"
      "\n";
  EXPECT_EQ(run(&throw_bad_input, {"--format", "json"}).error, json);
  EXPECT_EQ(run(&throw_bad_input, {"a", "--format=json"}).error, json);
  EXPECT_NE(run(&throw_bad_input, {"--format", "csv", "json"}).error, json);
  setenv("UNDERSTUDY_ERRORS", "json", /*overwrite=*/1);
  EXPECT_EQ(run(&throw_bad_input, {"--format", "html"}).error, json);
  unsetenv("UNDERSTUDY_ERRORS");
}

TEST(RunMain, OutOfMemoryIsAFailedRun) {
  const Outcome outcome = run([]() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.error,
            "tool: out of memory\n"
            "  hint:     give it fewer ranks at a time, or a machine with more memory\n");
}

TEST(RunMain, WhatTheSystemRefusesIsAFailedRun) {
  const Outcome outcome =
      run([]() -> int { throw std::system_error(EAGAIN, std::generic_category(), "a thread"); });
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(
      outcome.error,
      "tool: the system refused what was asked of it\n"
      "  got:      a thread: Resource temporarily unavailable\n"
      "  hint:     limits of threads, memory or open files (ulimit -a), or a disk that is full or "
      "cannot be written\n");
}

TEST(RunMain, AnythingElseIsABugOfOurs) {
  const Outcome broken = run([]() -> int { throw et_schema::BrokenInvariant("a.cpp:1: x"); });
  EXPECT_EQ(broken.status, 70);
  EXPECT_EQ(broken.error,
            std::string("tool: a bug in Understudy\n"
                        "  got:      a.cpp:1: x\n"
                        "  hint:     please report it, with the input and the version, ") +
                UNDERSTUDY_VERSION + "\n");
  EXPECT_EQ(run([]() -> int { throw std::runtime_error("x"); }).status, 70);
}

TEST(RunMain, FinishedIsASuccess) {
  const Outcome outcome = run([]() -> int { throw Finished{}; });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
}

}  // namespace
}  // namespace understudy::cli
