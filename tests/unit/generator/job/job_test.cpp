// Whether the traces that are given are all ranks of one job.

#include "job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "testing/error_text.h"
#include "trace_builder.h"

namespace understudy::generator {
namespace {

using et_schema::CaptureOrigin;
using testing_errors::told;

constexpr const char* kHint =
    "\n  hint:     give the traces of all ranks of one job, or --allow-missing: each rank then "
    "replays alone";

std::string for_all(int ranks) {
  return fmt::format(
      ", or --world-size {}: the others do as this one did; of a pipeline, give a rank of each "
      "stage",
      ranks);
}

/// A rank of a job whose process groups say that it has `world_size` ranks; 0: they say nothing.
Trace rank_of(int rank, std::int64_t world_size) {
  test::TraceBuilder builder;
  builder.add(2, "aten::relu", test::kRelu, {test::tensor(1, 2, {4})}, {test::tensor(3, 4, {4})});
  Trace trace = builder.trace();
  trace.file = fmt::format("rank-{}.json", rank);
  trace.rank = rank;
  trace.content_hash = static_cast<std::uint64_t>(rank) + 1;  // each process has ids of its own
  if (world_size > 0) {
    trace.process_groups.push_back({"0", "default_pg", "gloo", {}, world_size});
  }
  return trace;
}

Trace captured(int rank, const std::string& id, std::int64_t world_size = 2) {
  Trace trace = rank_of(rank, 0);
  trace.capture = CaptureOrigin{id + "/capture.json", id, world_size, rank, true};
  return trace;
}

std::vector<Trace> set(Trace&& a, Trace&& b) {
  std::vector<Trace> traces;
  traces.push_back(std::move(a));
  traces.push_back(std::move(b));
  return traces;
}

std::string refusal(const std::vector<Trace>& traces,
                    PartialRanks partial = PartialRanks::kRefused) {
  return testing_errors::error_of(et_schema::ErrorKind::kBadInput,
                                  [&] { return find_job(traces, partial); });
}

class JobRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Job, JobRanks, testing::Values(1, 2, 3, 4, 8));

TEST_P(JobRanks, AllOfThemAreAJob) {
  std::vector<Trace> traces;
  for (int rank = 0; rank < GetParam(); ++rank) {
    traces.push_back(rank_of(rank, GetParam()));
    traces.back().capture = CaptureOrigin{"capture.json", "", GetParam(), rank, true};
  }
  const Job job = find_job(traces, PartialRanks::kRefused);
  EXPECT_EQ(job.world_size, GetParam());
  EXPECT_FALSE(job.partial);
  EXPECT_EQ(job.missing, 0U);
}

TEST(Job, OneTraceOfTwoRanksIsRefused) {
  std::vector<Trace> traces = set(rank_of(0, 2), rank_of(1, 2));
  traces[1].content_hash = traces[0].content_hash;
  EXPECT_EQ(refusal(traces),
            told("two ranks have one and the same trace", "file: rank-1.json", "rank: 1",
                 "expected: the trace of another process", "got: a copy of rank-0.json",
                 "hint: copy this rank's own trace there"));
  EXPECT_EQ(refusal(traces, PartialRanks::kAllowed), "no error");
  traces[0].schema = traces[1].schema = "chakra 0.0.4";
  traces[0].pid = traces[1].pid = 0;
  EXPECT_EQ(refusal(traces), "no error") << "a simulator's ranks";
}

TEST_P(JobRanks, OneLessIsRefusedUnlessAllowed) {
  std::vector<Trace> traces;
  for (int rank = 1; rank <= GetParam(); ++rank) {
    traces.push_back(rank_of(rank, GetParam() + 1));
  }
  const std::string plural = GetParam() == 1 ? "" : "s";
  EXPECT_EQ(refusal(traces), told("traces of some ranks are missing", "file: rank-1.json",
                                  "rank: 1", "field: process groups",
                                  fmt::format("expected: traces of {} ranks", GetParam() + 1),
                                  fmt::format("got: traces of {} rank{}", GetParam(), plural)) +
                                 kHint + (GetParam() == 1 ? for_all(2) : ""));
  const Job job = find_job(traces, PartialRanks::kAllowed);
  EXPECT_EQ(job.missing, 1U);
  ASSERT_TRUE(job.partial);
  EXPECT_EQ(job.partial->world_size, GetParam() + 1);
  EXPECT_EQ(job.partial->ranks.size(), traces.size());
  EXPECT_EQ(job.partial->ranks.front(), 1);
}

TEST(Job, OneRankMayStandAloneWhereThatIsAsked) {
  std::vector<Trace> traces;
  traces.push_back(rank_of(0, 8));
  const Job job = find_job(traces, PartialRanks::kOneAlone);
  EXPECT_EQ(job.missing, 7U);
  EXPECT_EQ(job.partial, (et_schema::PartialJob{8, {0}}));
  EXPECT_NE(refusal(set(rank_of(0, 8), rank_of(1, 8)), PartialRanks::kOneAlone), "no error");
}

TEST(Job, PartsOfAnAllToAllTellTheWorldWhereNoGroupDoes) {
  test::TraceBuilder builder;
  builder.add(2, "c10d::alltoall_base_", "x",
              {test::tensor(1, 2, {6}), test::tensor(3, 4, {6}),
               test::list({test::integer(1), test::integer(2), test::integer(3)}),
               test::list({test::integer(3), test::integer(2), test::integer(1)})},
              {});
  std::vector<Trace> traces;
  traces.push_back(builder.trace());
  traces.front().file = "rank-0.json";
  EXPECT_EQ(refusal(traces),
            std::string(told("traces of some ranks are missing", "file: rank-0.json", "rank: 0",
                             "field: splits, group sizes", "expected: traces of 3 ranks",
                             "got: traces of 1 rank")) +
                kHint + for_all(3));
  EXPECT_EQ(find_job(traces, PartialRanks::kAllowed).partial, (et_schema::PartialJob{3, {1}}))
      << "what it sends to itself is what it gets from itself";
}

TEST(Job, RanksThatTheCaptureListsAndThatAreNotThere) {
  std::vector<Trace> traces;
  traces.push_back(captured(0, "a"));
  EXPECT_NE(refusal(traces), "no error") << "no process group tells, the capture does";
}

TEST(Job, RanksOfDifferentCaptures) {
  const std::vector<Trace> traces = set(captured(0, "a"), captured(1, "b"));
  EXPECT_EQ(refusal(traces), std::string(told("ranks of different captures", "file: rank-1.json",
                                              "rank: 1", "field: capture",
                                              "expected: a/capture.json, capture a, as rank-0.json",
                                              "got: b/capture.json, capture b")) +
                                 kHint);
  const Job job = find_job(traces, PartialRanks::kAllowed);
  EXPECT_EQ(job.is_foreign, (std::vector<bool>{false, true}));
  EXPECT_EQ(job.partial, (et_schema::PartialJob{2, {0, 1}}));
}

TEST(Job, ATraceThatTheCaptureDoesNotList) {
  Trace one = captured(1, "a");
  one.capture->rank.reset();
  EXPECT_NE(refusal(set(captured(0, "a"), std::move(one)))
                .find("got:      a/capture.json does not list it"),
            std::string::npos);
  Trace other = captured(1, "a");
  other.capture->is_same_file = false;
  EXPECT_NE(refusal(set(captured(0, "a"), std::move(other)))
                .find("got:      a/capture.json lists another trace of this name"),
            std::string::npos);
  EXPECT_NE(
      refusal(set(captured(0, "a"), rank_of(1, 2))).find("got:      no capture.json that lists it"),
      std::string::npos);
}

TEST(Job, ProcessGroupsOfWorldsOfAnotherSize) {
  EXPECT_EQ(
      refusal(set(rank_of(0, 2), rank_of(1, 4))),
      std::string(told("ranks of different captures", "file: rank-1.json", "rank: 1",
                       "field: capture", "expected: process groups of 2 ranks, as rank-0.json",
                       "got: process groups of 4 ranks")) +
          kHint);
}

TEST(Job, RanksOfAFakeGroupAreCapturedApart) {
  std::vector<Trace> traces = set(captured(0, "a"), captured(1, "b"));
  for (Trace& trace : traces) {
    trace.process_groups.push_back({"0", "default_pg", "cpu:fake,cuda:fake", {}, 2});
  }
  EXPECT_FALSE(find_job(traces, PartialRanks::kRefused).partial);
  traces[1].process_groups.front().size = 4;
  EXPECT_NE(refusal(traces).find("got:      process groups of 4 ranks"), std::string::npos);
}

TEST(Job, APartialBenchmarkCountsWhatItLacks) {
  const et_schema::Bench bench =
      generate(set(captured(1, "a", 4), captured(3, "b", 4)), {.partial = PartialRanks::kAllowed});
  EXPECT_EQ(bench.partial, (et_schema::PartialJob{4, {1, 3}}));
  EXPECT_EQ(bench.world_size(), 2);
  EXPECT_EQ(bench.recorded_world_size(), 4);
  EXPECT_EQ(bench.recorded_rank(1), 3);
  EXPECT_EQ(bench.groups[0].size, 4);
  EXPECT_EQ(bench.programs[0].losses[Loss::kMissingRanks], 2U);
  EXPECT_EQ(bench.programs[1].losses[Loss::kMissingRanks], 0U);
  EXPECT_EQ(bench.programs[1].losses[Loss::kForeignRanks], 1U);
}

}  // namespace
}  // namespace understudy::generator
