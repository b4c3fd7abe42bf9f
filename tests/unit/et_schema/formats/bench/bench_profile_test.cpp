// Recorded times in bench.et: what must be refused of the profile and of the timings, each with its
// whole message, and that ranks which share a program keep times of their own.

#include <gtest/gtest.h>

#include "bench_refusals.h"
#include "bench_samples.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kTimings = "timings/0.jsonl";

Bench timed_bench() {
  Bench bench = tiny_bench();
  Program& program = bench.programs.edit(0);
  program.profile.emplace();
  program.profile->file = "kineto.json.gz";
  program.profile->step_ns = 2000;
  program.profile->device_waits = {{150, 40, DeviceWait::For::kStream},
                                   {1900, 70, DeviceWait::For::kDevice}};
  program.profile->stream_waits = {{700, 7, 20, 650}, {800, std::nullopt, 24, 0}};
  program.instructions[0].timing = {100, 50, 100, 0, 0, {}};
  return bench;
}

std::string refused(const char* member, const std::string& from, const std::string& to) {
  return refusal(packed_with(timed_bench(), member, [&](std::string text) {
    return replaced(std::move(text), from, to);
  }));
}

std::string damaged_timings(const std::string& field, const std::string& expected,
                            const std::string& got) {
  return "the program in the benchmark is damaged\n  file:     bench.et/timings/0.jsonl"
         "\n  field:    " +
         field + "\n  expected: " + expected + "\n  got:      " + got +
         "\n  hint:     make the benchmark again with `generate`";
}

TEST(BenchProfile, IsReadAsItWasWritten) {
  const Bench bench = timed_bench();
  EXPECT_EQ(read_bench_bytes(packed(bench), "bench.et"), bench);
  EXPECT_EQ(unzip(packed(bench), "bench.et", {}).at(kTimings),
            "{\"timings\":1}\n{\"i\":0,\"start_ns\":100,\"host_ns\":50,\"gap_ns\":100}\n");
}

TEST(BenchProfile, RanksThatShareAProgramKeepTheirOwnTimes) {
  Bench bench = equal_ranks_bench(2, 5);
  for (int rank = 0; rank < 2; ++rank) {
    Program& program = bench.programs.edit(static_cast<std::size_t>(rank));
    program.profile.emplace();
    program.instructions[2].timing = {7, 3 + rank, 1, 90, 2, 7};
  }
  const std::string bytes = packed(bench);
  const auto members = unzip(bytes, "bench.et", {});
  EXPECT_EQ(members.size(), 4U) << "the manifest, one program, two lists of times";
  EXPECT_EQ(members.at("timings/1.jsonl"),
            "{\"timings\":1}\n{\"i\":2,\"start_ns\":7,\"host_ns\":4,\"gap_ns\":1,\"device_ns\":90,"
            "\"launches\":2,\"stream\":7}\n");
  EXPECT_EQ(read_bench_bytes(bytes, "bench.et"), bench);
}

TEST(BenchProfile, TimingsThatDoNotFit) {
  EXPECT_EQ(refused(kTimings, "{\"i\":0", "{\"i\":3"),
            damaged_timings("line 2, i", "rising numbers of instructions, below 2", "3"));
  EXPECT_EQ(refused(kTimings, "{\"timings\":1}", "{\"timings\":2}"),
            damaged_timings("line 3", "one of 2 timings", "the end of the file"));
  EXPECT_EQ(refused(kTimings, "{\"timings\":1}", "{\"timings\":0}"),
            damaged_timings("line 2", "the end: the header announces 0 timings", "another line"));
  EXPECT_EQ(refused(kTimings, "\"host_ns\":50", "\"host_ns\":0.5"),
            damaged_timings("line 2, host_ns", "an integer of 64 bits", "0.5"));
  EXPECT_EQ(refused(kTimings, "\"gap_ns\":100", "\"gap\":100"),
            damaged_timings("line 2, gap_ns", "this key", "none"));
  EXPECT_EQ(refused(kTimings, "\"start_ns\":100", "\"start_ns\":-4"),
            unsound("timing", "times that are not negative", "-4", "13"));
  EXPECT_EQ(refused(kTimings, "\"start_ns\":100", "\"start_ns\":2000000000000000000"),
            unsound("timing", "times of at most 2^60 ns", "2000000000000000000", "13"));
}

TEST(BenchProfile, AProfileThatCannotBeRead) {
  EXPECT_EQ(
      refused(kManifest, "\"join\":\"record function id\"", "\"join\":\"luck\""),
      unreadable("ranks[0].profile.join", "\"record function id\", \"order\" or \"own\"", "luck"));
  EXPECT_EQ(refused(kManifest, "\"step_ns\":2000", "\"step_ns\":-1"),
            unsound("profile", "times that are not negative", "-1"));
  EXPECT_EQ(refused(kManifest, "\"for\":\"stream\"", "\"for\":\"luck\""),
            unreadable("ranks[0].profile.device_waits[0].for",
                       "\"device\", \"stream\" or \"event\"", "luck"));
  const std::string starts = "starts in order, from 0 to 2^60 ns";
  EXPECT_EQ(refused(kManifest, "\"start_ns\":1900", "\"start_ns\":100"),
            unsound("profile.device_waits", starts, "100"));
  EXPECT_EQ(refused(kManifest, "\"start_ns\":1900", "\"start_ns\":2000000000000000000"),
            unsound("profile.device_waits", starts, "2000000000000000000"));
  EXPECT_EQ(refused(kManifest, "\"host_ns\":70", "\"host_ns\":-7"),
            unsound("profile.device_waits", "durations from 0 to 2^60 ns", "-7"));
  EXPECT_EQ(refused(kManifest, "\"start_ns\":800", "\"start_ns\":600"),
            unsound("profile.stream_waits", starts, "600"));
  EXPECT_EQ(refused(kManifest, "\"until_ns\":650", "\"until_ns\":701"),
            unsound("profile.stream_waits", "events that were recorded before they were waited for",
                    "701"));
  EXPECT_EQ(
      refused(kManifest, "\"timings\":\"timings/0.jsonl\"", "\"timings\":\"timings/9.jsonl\""),
      "the benchmark lacks a member\n  file:     bench.et\n  expected: a member "
      "\"timings/9.jsonl\" in the zip\n  got:      none\n  hint:     make the benchmark again "
      "with `generate`");
}

}  // namespace
}  // namespace understudy::et_schema
