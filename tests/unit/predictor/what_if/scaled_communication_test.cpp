#include "predictor/what_if/scaled_communication.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../simulate/hand_made.h"
#include "et_schema/base/error.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using testing::HandMade;
using testing::round_times;

/// A job of two ranks on others, which take turns in doing as they did.
Job on_ranks(Job job, int ranks) {
  const std::vector<std::uint32_t> recorded = job.program_of;
  job.recorded_ranks = {job.world_size()};
  job.program_of.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    job.program_of.push_back(recorded[static_cast<std::size_t>(rank) % recorded.size()]);
  }
  return job;
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
  const Job job = on_ranks(made.job(), ranks);
  EXPECT_EQ(job.world_size(), ranks);
  const Simulation simulation = simulate(job, ScaledCommunication(made), round_times());
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

TEST(WorldSizeRefusals, OneRankShowsNoCommunication) {
  HandMade made;
  made.begin_program();
  made.comm(CommKind::kAllReduce, {made.cpu()}, 0, 60, false);
  const Job job = on_ranks(made.job(), 4);
  EXPECT_EQ(testing_errors::error_of(
                et_schema::ErrorKind::kUsage,
                [&] { return simulate(job, ScaledCommunication(made), round_times()); }),
            "a job of one rank does not show what its communication takes\n"
            "  field:    --world-size\n"
            "  expected: a benchmark of two ranks or more\n"
            "  got:      allreduce of 1 rank\n"
            "  hint:     take --platform, whose models know collectives");
}

}  // namespace
}  // namespace understudy::predictor
