#include <gtest/gtest.h>

#include <algorithm>

#include "hand_made.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

using testing::HandMade;
using testing::round_times;
using testing::single_step;

std::string refusal(const Job& job, const Costs& costs) {
  return error_of(et_schema::ErrorKind::kBadInput,
                  [&] { return simulate(job, costs, round_times()); });
}

class Ranks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Counts, Ranks, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(Ranks, ACollectiveStartsWhenTheLastRankHasCome) {
  HandMade made;
  for (int rank = 0; rank < GetParam(); ++rank) {
    made.begin_program();
    const auto x = made.cpu();
    made.op("aten::mm", {}, {x}, {.host_ns = 10 * (rank + 1)});
    made.comm(CommKind::kAllReduce, {x}, 1, 7, false);
  }
  const Simulation simulation = simulate(made.job(), made, round_times());
  EXPECT_EQ(simulation.iteration_ns, 10 * GetParam() + 1 + 7);
  for (int rank = 0; rank < GetParam(); ++rank) {
    const Breakdown& parts = simulation.classes[static_cast<std::size_t>(rank)].breakdown;
    EXPECT_EQ(parts.compute_ns, 10 * (rank + 1) + 1);
    EXPECT_EQ(parts.exposed_communication_ns, 10 * (GetParam() - rank - 1) + 7);
  }
}

TEST_P(Ranks, AsynchronousCommunicationHidesBehindOperators) {
  HandMade made;
  for (int rank = 0; rank < GetParam(); ++rank) {
    made.begin_program();
    const auto x = made.cpu();
    made.comm(CommKind::kAllReduce, {x}, 0, 40, true);
    made.op("aten::mm", {made.cpu()}, {made.cpu()}, {.host_ns = 30 + rank});
    made.wait(x);
  }
  const Simulation simulation = simulate(made.job(), made, round_times());
  EXPECT_EQ(simulation.iteration_ns, std::max(40, 30 + GetParam() - 1));
}

TEST_P(Ranks, RanksOfOneProgramShareItsWork) {
  HandMade made;
  for (int program = 0; program < 2; ++program) {
    made.begin_program();
    const auto x = made.cuda();
    made.op("aten::mm", {}, {x}, {.host_ns = 2, .device_ns = 10 + 20 * program});
    made.comm(CommKind::kAllReduce, {x}, 1, 5, true);
    made.op("aten::add", {x}, {made.cuda()}, {.host_ns = 2, .device_ns = 3});
  }
  std::vector<std::uint32_t> programs;
  for (int rank = 0; rank < 2 * GetParam(); ++rank) {
    programs.push_back(static_cast<std::uint32_t>(rank % 2));
  }
  SimulateOptions options = round_times();
  const Simulation merged = simulate(made.job(programs), made, options);
  options.merge_ranks = false;
  const Simulation single = simulate(made.job(programs), made, options);
  EXPECT_EQ(merged.classes.size(), 2);
  EXPECT_EQ(single.classes.size(), static_cast<std::size_t>(2 * GetParam()));
  EXPECT_EQ(merged.iteration_ns, single.iteration_ns);
  EXPECT_EQ(merged.iteration_ns, 30 + 5 + 3);
}

TEST(RanksWithSkew, ThreeRanksOnADeviceWaitForTheLast) {
  HandMade made;
  for (const std::int64_t device_ns : {20, 50, 35}) {
    made.begin_program();
    const auto x = made.cuda();
    made.op("aten::mm", {}, {x}, {.host_ns = 2, .device_ns = device_ns});
    made.comm(CommKind::kAllReduce, {x}, 2, 10, true);
    made.wait(x);
    made.op("aten::add", {x}, {made.cuda()}, {.host_ns = 2, .device_ns = 4});
  }
  const Simulation simulation = simulate(made.job(), made, single_step());
  // Launched at 1, done at 51; moved until 61; added until 65.
  EXPECT_EQ(simulation.iteration_ns, 65);
  EXPECT_EQ(simulation.classes[0].breakdown.exposed_communication_ns, 30 + 10);
  EXPECT_EQ(simulation.classes[1].breakdown.exposed_communication_ns, 10);
  EXPECT_EQ(simulation.classes[2].breakdown.exposed_communication_ns, 15 + 10);
}

TEST(RanksWithSkew, RanksMayBeginAtDifferentTimes) {
  HandMade made;
  made.begin_program();
  const auto x = made.cpu();
  made.op("aten::mm", {}, {x}, {.host_ns = 10});
  made.comm(CommKind::kAllReduce, {x}, 0, 5, false);
  Job job = made.job({0, 0});
  job.start_ns = {0, 100};
  const Simulation simulation = simulate(job, made, round_times());
  ASSERT_EQ(simulation.classes.size(), 2);
  EXPECT_EQ(simulation.classes[0].first_step_ns, 115);
  EXPECT_EQ(simulation.classes[1].first_step_ns, 15);
  EXPECT_EQ(simulation.iteration_ns, 15);
}

TEST(Messages, AReceiveWaitsForItsSend) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 30});
  made.message(CommKind::kSend, made.cpu(), 1, 7);
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 10});
  made.message(CommKind::kRecv, made.cpu(), 0, 7);
  const Simulation simulation = simulate(made.job(), made, single_step());
  EXPECT_EQ(simulation.iteration_ns, 37);
  EXPECT_EQ(simulation.classes[1].breakdown.exposed_communication_ns, 27);
}

TEST(Messages, RanksThatSendBeforeTheyReceiveMeetWhereNothingBlocks) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    const auto sent = made.cpu();
    const auto received = made.cpu();
    made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 10 + rank});
    made.message(CommKind::kSend, sent, 1 - rank, 7, true);
    made.message(CommKind::kRecv, received, 1 - rank, 7, true);
    made.wait(sent);
    made.wait(received);
  }
  EXPECT_EQ(simulate(made.job(), made, round_times()).iteration_ns, 18);
}

TEST(Messages, ASendThatIsKeptApartHoldsNobodyBack) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    made.message(CommKind::kSend, made.cpu(), 1 - rank, 7);
    made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 10});
    made.message(CommKind::kRecv, made.cpu(), 1 - rank, 7);
  }
  Job job = made.job();
  job.kept_apart = {{true, false}, {true, false}};
  EXPECT_EQ(simulate(job, made, round_times()).iteration_ns, 17);
}

/// A stage's step: forward passes as far ahead as there are stages behind it, then in turns with
/// the backward passes. Sends are not waited for.
void add_stage(HandMade& made, int stage, int stages, int batches, std::int64_t forward_ns,
               std::int64_t backward_ns) {
  made.begin_program();
  const auto pass = [&](std::int64_t ns, int from, int to) {
    const auto x = made.cpu();
    const auto y = made.cpu();
    if (from >= 0 && from < stages) {
      made.message(CommKind::kRecv, x, from, 0);
    }
    made.op("aten::mm", {x}, {y}, {.host_ns = ns});
    if (to >= 0 && to < stages) {
      made.message(CommKind::kSend, y, to, 0, true);
    }
  };
  const int ahead = std::min(batches, stages - 1 - stage);
  for (int i = 0; i < ahead; ++i) {
    pass(forward_ns, stage - 1, stage + 1);
  }
  for (int i = 0; i < batches; ++i) {
    if (i + ahead < batches) {
      pass(forward_ns, stage - 1, stage + 1);
    }
    pass(backward_ns, stage + 1, stage - 1);
  }
}

/// (batches + stages - 1) (forward + backward): what a pipeline takes whose messages take nothing.
TEST(Pipelines, OneForwardOneBackwardTakesItsFormula) {
  for (const int stages : {2, 4, 8}) {
    for (const int batches : {1, 4, 16}) {
      HandMade made;
      for (int stage = 0; stage < stages; ++stage) {
        add_stage(made, stage, stages, batches, 100, 200);
      }
      EXPECT_EQ(simulate(made.job(), made, single_step()).iteration_ns,
                (batches + stages - 1) * 300)
          << stages << " stages, " << batches << " batches";
    }
  }
}

TEST(Deadlocks, RanksThatWaitInACircleAreNamed) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    made.message(CommKind::kRecv, made.cpu(), 1 - rank, 7);
    made.message(CommKind::kSend, made.cpu(), 1 - rank, 7);
  }
  EXPECT_EQ(refusal(made.job(), made),
            told("ranks would wait for each other for ever", "field: order of communications",
                 "expected: calls that the ranks wait for in one order", "got: ranks 0, 1 wait",
                 "hint: `understudy inspect BENCH --match` says for what"));
}

TEST(Deadlocks, AMemberThatMakesFewerCallsIsNamed) {
  HandMade made;
  for (int rank = 0; rank < 3; ++rank) {
    made.begin_program();
    const auto x = made.cpu();
    made.comm(CommKind::kAllReduce, {x}, 0, 1, false);
    if (rank != 2) {
      made.comm(CommKind::kAllReduce, {x}, 0, 1, false);
    }
  }
  EXPECT_EQ(refusal(made.job(), made),
            told("the programs of the ranks do not match", "rank: 2",
                 "field: calls in group 'world'", "expected: 2, as on rank 0", "got: 1"));
}

TEST(Deadlocks, AMemberThatMakesNoCallIsNamed) {
  HandMade made;
  made.begin_program();
  made.comm(CommKind::kAllReduce, {made.cpu()}, 0, 1, false);
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 1});
  EXPECT_EQ(refusal(made.job(), made),
            told("the programs of the ranks do not match", "rank: 1",
                 "field: calls in group 'world'", "expected: 1, as on rank 0", "got: 0"));
}

TEST(Groups, EachHasCommunicationOfItsOwn) {
  // Ranks 0 and 1, and ranks 2 and 3, are a group each; all four are one too.
  HandMade made;
  for (int rank = 0; rank < 4; ++rank) {
    made.begin_program();
    const auto x = made.cpu();
    made.op("aten::mm", {}, {x}, {.host_ns = 10 * (rank + 1)});
    made.comm(CommKind::kAllReduce, {x}, 0, 5, false, rank < 2 ? 1 : 2);
    made.comm(CommKind::kAllReduce, {x}, 0, 3, false, 0);
  }
  Job job = made.job();
  job.groups.push_back(testing::group("left", {0, 1}, 2));
  job.groups.push_back(testing::group("right", {2, 3}, 2));
  const Simulation simulation = simulate(job, made, round_times());
  EXPECT_EQ(simulation.iteration_ns, 48);
  EXPECT_EQ(simulation.classes[0].breakdown.exposed_communication_ns, 38);
}

TEST(PartialJobs, EachRankIsPlayedAlone) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    const auto x = made.cpu();
    made.op("aten::mm", {}, {x}, {.host_ns = 10 + 20 * rank});
    made.comm(CommKind::kAllReduce, {x}, 0, 5, false);
  }
  Job job = made.job();
  job.is_partial = true;
  job.groups[0].size = 8;
  const Simulation simulation = simulate(job, made, round_times());
  EXPECT_EQ(simulation.classes[0].iteration_ns, 15);
  EXPECT_EQ(simulation.classes[1].iteration_ns, 35);
}

}  // namespace
}  // namespace understudy::predictor
