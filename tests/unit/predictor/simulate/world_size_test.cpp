#include "predictor/what_if/world_size.h"

#include <gtest/gtest.h>

#include "et_schema/support/error.h"
#include "hand_made.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using testing::HandMade;
using testing::round_times;

std::string refusal(const Job& job) {
  try {
    static_cast<void>(with_world_size(job, 16));
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(error.kind(), et_schema::ErrorKind::kBadInput);
    return to_text(error);
  }
  return "nothing was refused";
}

/// Two ranks of a data-parallel job.
void make_host_job(HandMade& made) {
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    const auto x = made.cpu();
    made.op("aten::mm", {}, {x}, {.host_ns = 100 + 20 * rank});
    made.comm(CommKind::kAllReduce, {x}, 0, 60, false);
  }
}

class WorldSizes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, WorldSizes, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(WorldSizes, ScaleCommunicationByTheFactorOfItsKind) {
  HandMade made;
  make_host_job(made);
  const int ranks = GetParam();
  const Job job = with_world_size(made.job(), ranks);
  EXPECT_EQ(job.world_size(), ranks);
  const Simulation simulation = simulate(job, ScaledCommunication(made, 2), round_times());
  const double factor = 2.0 * (ranks - 1) / ranks;
  EXPECT_DOUBLE_EQ(simulation.iteration_ns, (ranks == 1 ? 100 : 120) + 60 * factor);
  EXPECT_EQ(simulation.costs[0][1].communication.extrapolated, ranks != 2);
}

TEST(WorldSizeRefusals, NameCollectivesWhosePartsDependOnTheRanks) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    made.comm(CommKind::kAllGatherBase, {made.cpu()}, 0, 60, false);
  }
  EXPECT_EQ(refusal(made.job()),
            "the job cannot be scaled to another number of ranks\n"
            "  rank:     0\n"
            "  node:     1\n"
            "  field:    --world-size\n"
            "  expected: collectives of as much data on any number of ranks\n"
            "  got:      _allgather_base, whose parts depend on the number of ranks\n"
            "  hint:     capture the job on that number of ranks");
}

TEST(WorldSizeRefusals, NameMessagesAndSmallerGroups) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    made.message(rank == 0 ? CommKind::kSend : CommKind::kRecv, made.cpu(), 1 - rank, 60);
  }
  EXPECT_NE(refusal(made.job()).find("  got:      a send\n"), std::string::npos);

  HandMade other;
  make_host_job(other);
  other.program().instructions[1].comm->group = 1;
  Job job = other.job();
  job.groups.push_back(testing::group("pair", {1}, 1));
  EXPECT_NE(refusal(job).find("  got:      allreduce in group 'pair' of 1 ranks\n"),
            std::string::npos);
}

TEST(WorldSizeRefusals, NameTheFirstOperatorThatDiffers) {
  HandMade made;
  make_host_job(made);
  made.program().instructions[0].name = "aten::bmm";
  EXPECT_EQ(refusal(made.job()),
            "the job cannot be scaled to another number of ranks\n"
            "  rank:     1\n"
            "  node:     3\n"
            "  field:    --world-size\n"
            "  expected: aten::mm, as rank 0 calls there\n"
            "  got:      aten::bmm\n"
            "  hint:     capture the job on that number of ranks");
}

TEST(WorldSizeRefusals, NameARankThatEndsEarlier) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 100});
  made.begin_program();  // a rank that only waits for the others' end
  EXPECT_EQ(refusal(made.job()),
            "the job cannot be scaled to another number of ranks\n"
            "  rank:     1\n"
            "  field:    --world-size\n"
            "  expected: aten::mm, as rank 0 calls there\n"
            "  got:      the step's end\n"
            "  hint:     capture the job on that number of ranks");
}

TEST(WorldSizeRefusals, APartOfAJobIsNone) {
  HandMade made;
  make_host_job(made);
  Job job = made.job();
  job.is_partial = true;
  EXPECT_EQ(refusal(job),
            "the job cannot be scaled to another number of ranks\n"
            "  field:    --world-size\n"
            "  expected: a benchmark of all ranks of its job\n"
            "  got:      some of them\n"
            "  hint:     generate it from the traces of all ranks");
}

TEST(WorldSizeRefusals, OneRankShowsNoCommunication) {
  HandMade made;
  made.begin_program();
  made.comm(CommKind::kAllReduce, {made.cpu()}, 0, 60, false);
  const Job job = with_world_size(made.job(), 4);
  EXPECT_THROW(static_cast<void>(simulate(job, ScaledCommunication(made, 1), round_times())),
               et_schema::Error);
}

}  // namespace
}  // namespace understudy::predictor
