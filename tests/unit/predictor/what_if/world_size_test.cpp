#include "predictor/what_if/world_size.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../simulate/hand_made.h"
#include "et_schema/support/error.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using testing::HandMade;
using testing::round_times;
using testing_errors::told;

std::string refusal(const Job& job) {
  return testing_errors::error_of(et_schema::ErrorKind::kBadInput,
                                  [&] { return with_world_size(job, 16); });
}

/// Two ranks of a data-parallel job.
void make_host_job(HandMade& made, std::int64_t bytes = 4) {
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    const auto x = made.cpu(bytes);
    made.op("aten::mm", {}, {x}, {.host_ns = 100 + 20 * rank});
    made.comm(CommKind::kAllReduce, {x}, 0, 60, false);
  }
}

class WorldSizes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, WorldSizes, ::testing::Values(1, 2, 3, 4, 8));

/// What 60 ns of communication between two ranks take between others.
double communication_ns(std::int64_t bytes, int ranks) {
  HandMade made;
  make_host_job(made, bytes);
  const Job job = with_world_size(made.job(), ranks);
  EXPECT_EQ(job.world_size(), ranks);
  const Simulation simulation = simulate(job, ScaledCommunication(made, 2), round_times());
  EXPECT_EQ(simulation.costs[0][1].communication.extrapolated, ranks != 2);
  return simulation.iteration_ns - (ranks == 1 ? 100 : 120);
}

TEST_P(WorldSizes, ScaleLargeCommunicationByItsBytesSmallByItsSteps) {
  const int ranks = GetParam();
  EXPECT_NEAR(communication_ns(std::int64_t{1} << 40U, ranks), 60 * 2.0 * (ranks - 1) / ranks, 1);
  EXPECT_NEAR(communication_ns(4, ranks), 60 * std::log2(ranks), 1);
}

TEST(LargeWorldSizes, AThousandRanksTakeTenStepsEachWay) {
  EXPECT_NEAR(communication_ns(4096, 1024), 600, 20);
}

using Splits = std::vector<std::int64_t>;

/// Two ranks that make one call each.
void make_call(HandMade& made, CommKind kind, const std::vector<Splits>& splits = {{}, {}},
               std::int64_t bytes = 256) {
  for (const Splits& of_rank : splits) {
    made.begin_program();
    made.comm(kind, {made.cpu(bytes)}, 0, 60, false).comm->in_splits = of_rank;
  }
}

/// What the job's only call asks for on so many ranks.
CommCall asked(const Job& job, int ranks, std::optional<GatherSize> gathers = {}) {
  class Listening final : public Costs {
   public:
    OperatorCost of_operator(const et_schema::Program&,
                             const et_schema::Instruction&) const override {
      return {};
    }
    Estimate of_gap(const et_schema::Program&, const et_schema::Instruction&) const override {
      return {};
    }
    Estimate of_communication(const CommCall& call) const override {
      heard = call;
      return {};
    }
    mutable CommCall heard;
  };
  const Listening costs;
  static_cast<void>(simulate(with_world_size(job, ranks, gathers), costs, round_times()));
  return costs.heard;
}

TEST(AllToAllsOfAnotherSize, SendAsMuchAndThoseThatDoAlikeShare) {
  HandMade made;
  make_call(made, CommKind::kAllToAllV, {{48, 16}, {16, 48}});
  const Job job = made.job();
  using Bytes = std::vector<std::int64_t>;
  EXPECT_EQ(asked(job, 2).sent_bytes, (Bytes{192, 64, 64, 192}));
  EXPECT_EQ(asked(job, 1).sent_bytes, (Bytes{256}));
  EXPECT_EQ(asked(job, 3).sent_bytes, (Bytes{96, 64, 96, 32, 192, 32, 96, 64, 96}));
  EXPECT_EQ(asked(job, 4).sent_bytes,
            (Bytes{96, 32, 96, 32, 32, 96, 32, 96, 96, 32, 96, 32, 32, 96, 32, 96}));
  EXPECT_EQ(asked(job, 4).size_factor, 1);
}

TEST(GathersOfAnotherSize, KeepTheirSumOrTheirParts) {
  for (const CommKind kind : {CommKind::kAllGatherBase, CommKind::kReduceScatterBase}) {
    HandMade made;
    make_call(made, kind);
    const std::int64_t bytes = asked(made.job(), 2, GatherSize::kWhole).bytes;
    EXPECT_EQ(asked(made.job(), 8, GatherSize::kWhole).bytes, bytes);
    EXPECT_EQ(asked(made.job(), 8, GatherSize::kParts).bytes, 4 * bytes);
    EXPECT_EQ(asked(made.job(), 8, GatherSize::kParts).size_factor, 4);
  }
}

TEST(GathersOfAnotherSize, TakeAsMuchLongerAsTheyAreLarger) {
  HandMade made;
  make_call(made, CommKind::kAllGatherBase, {{}, {}}, std::int64_t{1} << 40U);
  const auto ns = [&](GatherSize gathers) {
    return simulate(with_world_size(made.job(), 4, gathers), ScaledCommunication(made, 2),
                    round_times())
        .iteration_ns;
  };
  EXPECT_DOUBLE_EQ(ns(GatherSize::kWhole), 60 * 0.75 / 0.5);
  EXPECT_DOUBLE_EQ(ns(GatherSize::kParts), 2 * 60 * 0.75 / 0.5);
}

TEST(WorldSizeRefusals, AskWhatGathersExchange) {
  HandMade made;
  make_call(made, CommKind::kAllGatherBase);
  EXPECT_EQ(refusal(made.job()),
            told("the job cannot be scaled to another number of ranks", "rank: 0", "node: 1",
                 "field: --world-size", "expected: --gathers whole or --gathers parts",
                 "got: _allgather_base, of which either stays as large",
                 "hint: whole: parameters of which each rank has a part (FSDP, ZeRO); parts: data "
                 "that each rank adds"));
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
            told("the job cannot be scaled to another number of ranks", "rank: 1", "node: 3",
                 "field: --world-size", "expected: aten::mm, as rank 0 calls there",
                 "got: aten::bmm", "hint: capture the job on that number of ranks"));
}

TEST(WorldSizeRefusals, NameARankThatEndsEarlier) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 100});
  made.begin_program();  // a rank that only waits for the others' end
  EXPECT_EQ(refusal(made.job()),
            told("the job cannot be scaled to another number of ranks", "rank: 1",
                 "field: --world-size", "expected: aten::mm, as rank 0 calls there",
                 "got: the step's end", "hint: capture the job on that number of ranks"));
}

TEST(WorldSizeRefusals, APartOfAJobIsNone) {
  HandMade made;
  make_host_job(made);
  Job job = made.job();
  job.is_partial = true;
  EXPECT_EQ(refusal(job),
            told("the job cannot be scaled to another number of ranks", "field: --world-size",
                 "expected: a benchmark of all ranks of its job", "got: some of them",
                 "hint: generate it from the traces of all ranks"));
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
